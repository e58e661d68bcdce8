//! Makes the broker have the streams and consumers that the fleet needs.
//!
//! What is missing is created. What differs is reported and updated where the server allows it;
//! where it does not, the process refuses to work with it and says why. What a server answers is
//! compared, so that a setting it silently ignored is noticed.

use serde_json::{Value, json};

use super::{
    super::{
        BrokerFault,
        drift::{Drift, drift},
        topology::{Place, Settings, Wanted},
        version,
    },
    api::{self, ApiFault, code},
    link::Link,
    unanswered::Unanswered,
};

/// Refuses a server that is too old or has no JetStream.
pub(super) async fn check_server(link: &Link) -> Result<(), BrokerFault> {
    version::check(&link.wire().client.server_info().version)?;
    let disabled = |reason: &str| {
        let address = link.options().address();
        BrokerFault::Unsuitable(format!(
            "JetStream is not enabled on nats at {address}: {reason}"
        ))
    };
    match api::call(link, "INFO", &Value::Null).await {
        Ok(_) => Ok(()),
        Err(ApiFault::Unanswered(Unanswered::NoResponders)) => {
            Err(disabled("start nats-server with --jetstream"))
        }
        Err(ApiFault::Refused(error))
            if [code::NOT_ENABLED, code::NOT_ENABLED_FOR_ACCOUNT].contains(&error.code) =>
        {
            Err(disabled(&error.description))
        }
        Err(fault) => Err(fault.into_fault("account info")),
    }
}

/// Creates or updates what is wanted.
pub(super) async fn reconcile(link: &Link, wanted: &Wanted) -> Result<(), BrokerFault> {
    let found = match read(link, wanted).await? {
        Some(found) => found,
        None => create(link, wanted).await?,
    };
    let drifted = drift(&wanted.settings, &found);
    if drifted.is_empty() {
        return Ok(());
    }
    for one in &drifted {
        tracing::warn!(place = %wanted.place, "nats drift: {one}");
    }
    let updated = update(link, wanted, &found, &drifted).await?;
    let left = drift(&wanted.settings, &updated);
    if left.is_empty() {
        return Ok(());
    }
    Err(unsuitable(
        wanted,
        &left,
        "the server ignores the setting; is it too old?",
    ))
}

/// Whether what is wanted is there, whatever its settings.
pub(super) async fn is_there(link: &Link, wanted: &Wanted) -> Result<bool, BrokerFault> {
    read(link, wanted).await.map(|found| found.is_some())
}

async fn read(link: &Link, wanted: &Wanted) -> Result<Option<Settings>, BrokerFault> {
    let answer = api::call(link, &wanted.place.info(), &Value::Null).await;
    match answer {
        Ok(answer) => config(answer).map(Some),
        Err(fault) if is_missing(&fault) => Ok(None),
        Err(fault) => Err(fault.into_fault(wanted.place.operation())),
    }
}

/// Whether what was asked about is not there.
pub(super) const fn is_missing(fault: &ApiFault) -> bool {
    matches!(
        fault.code(),
        Some(code::STREAM_NOT_FOUND | code::CONSUMER_NOT_FOUND)
    )
}

async fn create(link: &Link, wanted: &Wanted) -> Result<Settings, BrokerFault> {
    let body = wanted.place.body(&wanted.settings, "create");
    match api::call(link, &wanted.place.create(), &body).await {
        Ok(answer) => config(answer),
        // Another process may have created it meanwhile.
        Err(fault) => match read(link, wanted).await? {
            Some(found) => Ok(found),
            None => Err(fault.into_fault(wanted.place.operation())),
        },
    }
}

/// Settings that nobody asked for stay as the operator left them.
async fn update(
    link: &Link,
    wanted: &Wanted,
    found: &Settings,
    drifted: &[Drift],
) -> Result<Settings, BrokerFault> {
    let mut merged = found.clone();
    merged.extend(wanted.settings.clone());
    let body = wanted.place.body(&merged, "update");
    match api::call(link, &wanted.place.update(), &body).await {
        Ok(answer) => config(answer),
        Err(ApiFault::Refused(error)) => Err(unsuitable(
            wanted,
            drifted,
            &format!("the server refuses to change it: {}", error.description),
        )),
        Err(fault) => Err(fault.into_fault(wanted.place.operation())),
    }
}

fn unsuitable(wanted: &Wanted, drifted: &[Drift], reason: &str) -> BrokerFault {
    let lines: Vec<String> = drifted.iter().map(Drift::to_string).collect();
    BrokerFault::Unsuitable(format!("{}: {}: {reason}", wanted.place, lines.join(", ")))
}

fn config(mut answer: Settings) -> Result<Settings, BrokerFault> {
    match answer.remove("config") {
        Some(Value::Object(config)) => Ok(config),
        Some(_) | None => Err(ApiFault::Nonsense.into_fault("read configuration")),
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stream(name) => write!(f, "stream {name}"),
            Self::Consumer { stream, name, .. } => {
                write!(
                    f,
                    "consumer {} of stream {}",
                    name.as_str(),
                    stream.as_str()
                )
            }
        }
    }
}

impl Place {
    const fn operation(&self) -> &'static str {
        match self {
            Self::Stream(_) => "reconcile stream",
            Self::Consumer { .. } => "reconcile consumer",
        }
    }

    /// The management call that tells of it.
    pub(super) fn info(&self) -> String {
        match self {
            Self::Stream(name) => format!("STREAM.INFO.{name}"),
            Self::Consumer { stream, name, .. } => {
                format!("CONSUMER.INFO.{}.{}", stream.as_str(), name.as_str())
            }
        }
    }

    /// Where pulls are published; a stream is not pulled from.
    pub(super) fn pull_subject(&self) -> String {
        match self {
            Self::Stream(_) => String::new(),
            Self::Consumer { stream, name, .. } => format!(
                "$JS.API.CONSUMER.MSG.NEXT.{}.{}",
                stream.as_str(),
                name.as_str()
            ),
        }
    }

    fn create(&self) -> String {
        match self {
            Self::Stream(name) => format!("STREAM.CREATE.{name}"),
            Self::Consumer {
                stream,
                name,
                filter,
            } => format!(
                "CONSUMER.CREATE.{}.{}.{filter}",
                stream.as_str(),
                name.as_str()
            ),
        }
    }

    fn update(&self) -> String {
        match self {
            Self::Stream(name) => format!("STREAM.UPDATE.{name}"),
            Self::Consumer { .. } => self.create(),
        }
    }

    fn body(&self, settings: &Settings, action: &str) -> Value {
        match self {
            Self::Stream(_) => Value::Object(settings.clone()),
            Self::Consumer { stream, .. } => json!({
                "stream_name": stream.as_str(),
                "config": settings,
                "action": action,
            }),
        }
    }
}
