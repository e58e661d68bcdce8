//! A model behind an endpoint: what every provider with a server has.
//!
//! Never: a provider's wire form.

use super::endpoint::Endpoint;
use crate::runtime::{ModelName, Temperature, fleet::Quota};

/// Where a model is, and what its configuration says of the calls to it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) endpoint: Endpoint,
    pub(super) model: ModelName,
    /// For calls that do not say.
    pub(super) temperature: Option<Temperature>,
    pub(super) quota: Quota,
}
