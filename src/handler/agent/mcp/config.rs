//! One table `[[mcp]]` of a `worker.toml`, as a value that cannot be wrong.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;

use crate::{
    handler::{
        agent::tools::ServerName,
        program::{Argv, VariableName},
    },
    runtime::config::{BaseUrl, ByteSize, HumanDuration},
};

/// How long a server may take to start, and for each call, unless told otherwise.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// Longest message that is read, unless told otherwise, in bytes.
const OUTPUT_BYTES_DEFAULT: usize = 4 << 20;

/// A server that speaks the Model Context Protocol.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "McpTable")]
pub struct McpConfig {
    /// What decisions call it.
    pub name: ServerName,
    /// Where it is.
    pub place: Place,
    /// Which of its tools may be used; all of them where it is `None`.
    pub tools: Option<BTreeSet<String>>,
    /// How long it may take to start and to say what it offers, and how long each call may take.
    pub timeout: Duration,
    /// Longest message that is read from it, in bytes.
    pub output_max: usize,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A program of this machine, over its standard input and output.
    Program {
        /// The program and its arguments; it runs in the Puruto's folder.
        argv: Argv,
        /// The variables of the worker's environment that it sees.
        env: Vec<VariableName>,
    },
    /// Elsewhere, over streamable HTTP.
    Http {
        /// Its address.
        url: BaseUrl,
        /// The variable that holds the key that it wants, if it wants one.
        api_key_env: Option<VariableName>,
    },
}

/// The keys as they stand in the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpTable {
    name: ServerName,
    argv: Option<Argv>,
    env: Option<Vec<VariableName>>,
    url: Option<BaseUrl>,
    api_key_env: Option<VariableName>,
    tools: Option<BTreeSet<String>>,
    timeout: Option<HumanDuration>,
    output_max: Option<ByteSize>,
}

/// Keys that do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMcp {
    /// Neither or both.
    #[error("expected argv, of a program to start, or url, of a server elsewhere: one of them")]
    Place,
    /// A server elsewhere has an environment of its own.
    #[error("expected no env beside url: it is for argv")]
    Env,
    /// A program is told by its environment.
    #[error("expected no api_key_env beside argv: name the variable in env")]
    Key,
    /// Then it is of no use.
    #[error("expected at least one of its tools, or no key tools for all of them")]
    NoTools,
}

impl TryFrom<McpTable> for McpConfig {
    type Error = InvalidMcp;

    fn try_from(table: McpTable) -> Result<Self, InvalidMcp> {
        if table.tools.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(InvalidMcp::NoTools);
        }
        let place = match (table.argv, table.url) {
            (Some(_), Some(_)) | (None, None) => return Err(InvalidMcp::Place),
            (Some(_), None) if table.api_key_env.is_some() => return Err(InvalidMcp::Key),
            (None, Some(_)) if table.env.is_some() => return Err(InvalidMcp::Env),
            (Some(argv), None) => Place::Program {
                argv,
                env: table.env.unwrap_or_else(VariableName::defaults),
            },
            (None, Some(url)) => Place::Http {
                url,
                api_key_env: table.api_key_env,
            },
        };
        let timeout = table.timeout.map(|it| it.0);
        let output_max = table.output_max.map(ByteSize::bytes);
        Ok(Self {
            name: table.name,
            place,
            tools: table.tools,
            timeout: timeout.unwrap_or(TIMEOUT_DEFAULT),
            output_max: output_max.unwrap_or(OUTPUT_BYTES_DEFAULT),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(table: &str) -> Result<McpConfig, String> {
        toml::from_str(table).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let program = config("name = 'git'\nargv = ['git-mcp', '-v']").expect("usable");
        let Place::Program { argv, env } = &program.place else {
            panic!("{program:?}")
        };
        assert_eq!((argv.program(), argv.arguments().len()), ("git-mcp", 1));
        assert_eq!(*env, VariableName::defaults());
        assert_eq!((program.tools, program.timeout), (None, TIMEOUT_DEFAULT));

        let elsewhere = "name = 'wiki'\nurl = 'https://h/mcp'\napi_key_env = 'KEY'\n\
                         tools = ['find']\ntimeout = '5s'\noutput_max = '1 MiB'";
        let elsewhere = config(elsewhere).expect("usable");
        let Place::Http { url, api_key_env } = &elsewhere.place else {
            panic!("{elsewhere:?}")
        };
        assert_eq!(url.to_string(), "https://h/mcp");
        let key = api_key_env.as_ref().map(VariableName::as_str);
        assert_eq!((key, elsewhere.output_max), (Some("KEY"), 1 << 20));
    }

    #[test]
    fn keys_that_do_not_go_together_say_so() {
        for (keys, why) in [
            ("", InvalidMcp::Place),
            ("argv = ['a']\nurl = 'http://h'", InvalidMcp::Place),
            ("url = 'http://h'\nenv = ['A']", InvalidMcp::Env),
            ("argv = ['a']\napi_key_env = 'A'", InvalidMcp::Key),
            ("argv = ['a']\ntools = []", InvalidMcp::NoTools),
        ] {
            let found = config(&format!("name = 'a'\n{keys}")).expect_err(keys);
            assert_eq!(found, why.to_string());
        }
        for table in [
            "argv = ['a']",
            "name = 'a b'\nargv = ['a']",
            "name = 'a'\nargv = ['a']\ntool = ['a']",
            "name = 'a'\nurl = 'ftp://h'",
            "name = 'a'\nargv = ['a']\ntimeout = '0s'",
        ] {
            assert!(config(table).is_err(), "{table}");
        }
    }
}
