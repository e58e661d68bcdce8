//! The table of OpenTelemetry's attributes that stand on spans beside their own.
//!
//! Those of GenAI are still in development; a new version of them is a change of this table.
//! Never: an attribute that holds a prompt, an answer or a key.

/// One row of the table: a span and what OpenTelemetry's conventions know of it.
#[derive(Clone, Copy, Debug)]
pub struct ConventionDef {
    /// The span's name; an `N` at its end stands for a number.
    pub span: &'static str,
    /// The attributes that it may carry; each only where its value is known.
    pub attributes: &'static [&'static str],
}

impl ConventionDef {
    /// The row of the span of this name, behind which its destination may stand.
    #[must_use]
    pub fn of(span: &str) -> Option<&'static Self> {
        let name = span.split_once(' ').map_or(span, |(name, _)| name);
        CONVENTIONS.iter().find(|row| {
            let numbered = row.span.strip_suffix('N');
            numbered.map_or(row.span == name, |stem| name.starts_with(stem))
        })
    }
}

/// What the names of the conventions' attributes begin with.
pub const NAMESPACES: &[&str] = &[
    "error.",
    "gen_ai.",
    "http.",
    "messaging.",
    "network.",
    "server.",
    "url.",
];

/// Every span that the conventions know.
pub const CONVENTIONS: &[ConventionDef] = &[
    ConventionDef {
        span: "api-call",
        attributes: &[
            "error.type",
            "gen_ai.operation.name",
            "gen_ai.output.type",
            "gen_ai.provider.name",
            "gen_ai.request.max_tokens",
            "gen_ai.request.model",
            "gen_ai.request.stream",
            "gen_ai.request.temperature",
            "gen_ai.response.finish_reasons",
            "gen_ai.response.id",
            "gen_ai.response.model",
            "gen_ai.response.time_to_first_chunk",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "http.request.method",
            "http.response.status_code",
            "network.protocol.version",
            "server.address",
            "server.port",
            "url.full",
        ],
    },
    ConventionDef {
        span: "retry-attempt-N",
        attributes: &[
            "error.type",
            "http.request.method",
            "http.request.resend_count",
            "http.response.status_code",
            "network.protocol.version",
            "url.full",
        ],
    },
    ConventionDef {
        span: "process",
        attributes: &[
            "messaging.consumer.group.name",
            "messaging.destination.name",
            "messaging.message.body.size",
            "messaging.message.conversation_id",
            "messaging.message.id",
            "messaging.operation.name",
            "messaging.operation.type",
            "messaging.system",
        ],
    },
    ConventionDef {
        span: "publish",
        attributes: &[
            "messaging.destination.template",
            "messaging.message.conversation_id",
            "messaging.operation.name",
            "messaging.operation.type",
            "messaging.system",
        ],
    },
    ConventionDef {
        span: "ack",
        attributes: &[
            "messaging.destination.name",
            "messaging.operation.name",
            "messaging.operation.type",
            "messaging.system",
        ],
    },
];
