//! What is told of skills to whoever looks for one. Never: how a skill is served.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Skill, SkillId, Skills, endpoint::EndpointUrls};
use crate::{config::HttpUrl, gateway::auth::AuthScheme};

/// What the list of skills says it is.
const PROTOCOL: &str = "skill-sharing/1.0";

/// What a descriptor says for those who choose; none of it changes how a skill is served.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Described {
    pub(super) protocol: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) capability_type: String,
    pub(super) description: String,
    pub(super) provider: Value,
    pub(super) access: Value,
}

/// A descriptor as it is published.
#[derive(Serialize)]
struct Published<'s> {
    protocol: &'s str,
    id: &'s str,
    name: &'s str,
    version: &'s str,
    capability_type: &'s str,
    description: &'s str,
    provider: &'s Value,
    endpoint: EndpointUrls,
    inputs: &'s Value,
    output: &'s Value,
    auth: &'s AuthScheme,
    access: &'s Value,
}

impl Skill {
    /// The descriptor as callers see it who reach the gateway at `gateway`.
    #[must_use]
    pub fn published(&self, gateway: &HttpUrl) -> Value {
        let it = &self.described;
        let published = Published {
            protocol: &it.protocol,
            id: self.id.as_str(),
            name: &it.name,
            version: &it.version,
            capability_type: &it.capability_type,
            description: &it.description,
            provider: &it.provider,
            endpoint: self.endpoints(gateway),
            inputs: self.inputs.source(),
            output: self.output.source(),
            auth: &self.auth,
            access: &it.access,
        };
        serde_json::to_value(published).expect("texts and values can always be written as JSON")
    }
}

impl Skills {
    /// The document at `/.well-known/skill-sharing`: all descriptors, in the order of their ids.
    #[must_use]
    pub fn discovery(&self, gateway: &HttpUrl) -> Value {
        let skills: Vec<_> = self.iter().map(|it| it.published(gateway)).collect();
        json!({ "protocol": PROTOCOL, "skills": skills })
    }

    /// One descriptor as it is published.
    #[must_use]
    pub fn descriptor(&self, id: &SkillId, gateway: &HttpUrl) -> Option<Value> {
        self.get(id).map(|skill| skill.published(gateway))
    }
}
