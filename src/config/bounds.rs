//! What must hold between the values of several keys.

use super::{Config, Mistake, Mistakes, key, layers::Layers};

/// A rule between keys; it is not asked while one of them has no value of its own.
struct Bound {
    keys: &'static [&'static str],
    holds: fn(&Config) -> bool,
    why: &'static str,
}

const BOUNDS: &[Bound] = &[
    Bound {
        keys: &[
            "redis.session_renew",
            "redis.session_margin",
            "redis.session_ttl",
        ],
        holds: |it| {
            let (renew, margin) = (it.redis.session_renew, it.redis.session_margin);
            renew * 2 + margin < it.redis.session_ttl
        },
        why: "a session must outlive two renewals and the margin, or one lost call ends it",
    },
    Bound {
        keys: &["redis.response_timeout", "redis.session_renew"],
        holds: |it| it.redis.response_timeout < it.redis.session_renew,
        why: "a renewal must be answered or given up before the next one is due",
    },
    Bound {
        keys: &["worker.progress_interval", "nats.ack_wait"],
        holds: |it| it.worker.progress_interval * 2 < it.nats.ack_wait,
        why: "the broker must hear of a request twice in its ack wait, or one lost word \
              delivers it again",
    },
    Bound {
        keys: &["redis.retention", "nats.results_max_age"],
        holds: |it| it.redis.retention >= it.nats.results_max_age,
        why: "a record must be kept as long as its result, or the same request runs again",
    },
    Bound {
        keys: &["nats.user", "nats.password"],
        holds: |it| it.nats.user.is_some() == it.nats.password.is_some(),
        why: "a user and a password go together",
    },
    Bound {
        keys: &["nats.credentials", "nats.user", "nats.token"],
        holds: |it| {
            let nats = &it.nats;
            let ways = [
                nats.credentials.is_some(),
                nats.user.is_some(),
                nats.token.is_some(),
            ];
            ways.into_iter().filter(|given| *given).count() <= 1
        },
        why: "only one way to log in can be used",
    },
    Bound {
        keys: &["gateway.tls_certificate", "gateway.tls_key"],
        holds: |it| it.gateway.tls_certificate.is_some() == it.gateway.tls_key.is_some(),
        why: "a certificate and its key go together",
    },
    Bound {
        keys: &["gateway.oauth_issuer", "gateway.oauth_audience"],
        holds: |it| it.gateway.oauth_issuer.is_some() == it.gateway.oauth_audience.is_some(),
        why: "without an audience every token of the issuer would be taken, for whomever it is meant",
    },
];

/// Notes every rule that does not hold.
pub(super) fn check(config: &Config, layers: &Layers, mistakes: &mut Mistakes) {
    for bound in BOUNDS {
        let keys: Vec<_> = bound
            .keys
            .iter()
            .filter_map(|name| key::find(name))
            .collect();
        if keys.iter().any(|key| mistakes.concern(key)) || (bound.holds)(config) {
            continue;
        }
        let shown = |key: &&super::Key| {
            let given = layers.get(key)?;
            let value = key.shown(&given.raw.to_string());
            Some(format!("{key} = {value:?} ({})", given.source))
        };
        let keys: Vec<_> = keys.iter().filter_map(shown).collect();
        mistakes.note(Mistake::Together {
            keys: keys.join(", "),
            why: bound.why,
        });
    }
}
