//! What the standard `OTEL_*` variables say about spans, read through a closure.
//!
//! Those that decide whether, where to and how much are read here, and a wrong one is an error.
//! The exporter itself reads from the process's environment what it alone can use:
//! `OTEL_EXPORTER_OTLP_{,TRACES_}{HEADERS,TIMEOUT,COMPRESSION}`, `OTEL_BSP_*`,
//! `OTEL_SPAN_*_LIMIT` and `OTEL_RESOURCE_ATTRIBUTES`.

use opentelemetry_sdk::trace::Sampler;

/// The service name when `OTEL_SERVICE_NAME` names none.
pub const SERVICE_NAME: &str = "puruto-fleet";

const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const TRACES_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";

/// The path that the general endpoint lacks.
const TRACES_PATH: &str = "/v1/traces";

/// A variable whose value is not understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value:?} is not understood: {allowed}")]
pub struct VarError {
    name: &'static str,
    value: String,
    allowed: &'static str,
}

/// Where spans go, under which name, and how many of them.
#[derive(Clone, Debug)]
pub struct TraceConfig {
    /// The whole URL that batches are posted to.
    pub endpoint: String,
    /// The name of this service.
    pub service_name: String,
    /// Which traces are collected.
    pub sampler: Sampler,
}

impl TraceConfig {
    /// Reads the variables; `None` when they ask for no export, as they do when none is set.
    ///
    /// # Errors
    /// The first variable whose value is not understood.
    pub fn from_vars(vars: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, VarError> {
        // The standard: an empty value is as good as none.
        let get = |name: &str| {
            vars(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        if is_off(&get)? {
            return Ok(None);
        }
        let Some(endpoint) = endpoint(&get)? else {
            return Ok(None);
        };
        check_protocol(&get)?;
        Ok(Some(Self {
            endpoint,
            service_name: get(SERVICE).unwrap_or_else(|| SERVICE_NAME.into()),
            sampler: sampler(&get)?,
        }))
    }
}

type Get<'g> = &'g dyn Fn(&str) -> Option<String>;

fn is_off(get: Get<'_>) -> Result<bool, VarError> {
    // The standard: anything but "true" leaves the SDK on.
    if get(DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(true);
    }
    match get(EXPORTER).as_deref() {
        None | Some("otlp") => Ok(false),
        Some("none") => Ok(true),
        Some(other) => Err(wrong(EXPORTER, other, "use otlp or none")),
    }
}

fn endpoint(get: Get<'_>) -> Result<Option<String>, VarError> {
    let (name, value, path) = match (get(TRACES_ENDPOINT), get(ENDPOINT)) {
        (Some(whole), _) => (TRACES_ENDPOINT, whole, ""),
        (None, Some(base)) => (ENDPOINT, base, TRACES_PATH),
        (None, None) => return Ok(None),
    };
    match url::Url::parse(&value) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {}
        _ => {
            return Err(wrong(
                name,
                &value,
                "use a URL such as http://localhost:4318",
            ));
        }
    }
    if path.is_empty() {
        return Ok(Some(value));
    }
    Ok(Some(format!("{}{path}", value.trim_end_matches('/'))))
}

fn check_protocol(get: Get<'_>) -> Result<(), VarError> {
    let (name, value) = match (get(TRACES_PROTOCOL), get(PROTOCOL)) {
        (Some(value), _) => (TRACES_PROTOCOL, value),
        (None, Some(value)) => (PROTOCOL, value),
        (None, None) => return Ok(()),
    };
    match value.as_str() {
        "http/protobuf" => Ok(()),
        other => Err(wrong(
            name,
            other,
            "only http/protobuf is spoken (port 4318 as a rule)",
        )),
    }
}

fn sampler(get: Get<'_>) -> Result<Sampler, VarError> {
    let parent_based = |root| Sampler::ParentBased(Box::new(root));
    match get(SAMPLER).as_deref() {
        None | Some("parentbased_always_on") => Ok(parent_based(Sampler::AlwaysOn)),
        Some("parentbased_always_off") => Ok(parent_based(Sampler::AlwaysOff)),
        Some("parentbased_traceidratio") => ratio(get).map(parent_based),
        Some("always_on") => Ok(Sampler::AlwaysOn),
        Some("always_off") => Ok(Sampler::AlwaysOff),
        Some("traceidratio") => ratio(get),
        Some(other) => Err(wrong(
            SAMPLER,
            other,
            "use always_on, always_off, traceidratio, or one of these after parentbased_",
        )),
    }
}

fn ratio(get: Get<'_>) -> Result<Sampler, VarError> {
    let text = get(SAMPLER_ARG).unwrap_or_else(|| "1".into());
    match text.parse::<f64>() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(Sampler::TraceIdRatioBased(ratio)),
        _ => Err(wrong(SAMPLER_ARG, &text, "use a number from 0 to 1")),
    }
}

fn wrong(name: &'static str, value: &str, allowed: &'static str) -> VarError {
    VarError {
        name,
        value: value.into(),
        allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&str, &str)]) -> Result<Option<TraceConfig>, VarError> {
        TraceConfig::from_vars(|name| {
            let found = vars.iter().find(|(var, _)| *var == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn endpoint_of(vars: &[(&str, &str)]) -> Option<String> {
        read(vars).unwrap().map(|config| config.endpoint)
    }

    #[test]
    fn without_an_endpoint_or_when_switched_off_nothing_is_exported() {
        let base = (ENDPOINT, "http://c:4318");
        assert_eq!(endpoint_of(&[]), None);
        assert_eq!(endpoint_of(&[(ENDPOINT, " ")]), None);
        assert_eq!(endpoint_of(&[base, (DISABLED, "True")]), None);
        assert_eq!(endpoint_of(&[base, (EXPORTER, "none")]), None);
        assert!(endpoint_of(&[base, (DISABLED, "no")]).is_some());
    }

    #[test]
    fn the_general_endpoint_gets_the_path_and_the_special_one_is_taken_whole() {
        let base = (ENDPOINT, "http://c:4318/otel/");
        let traces = (TRACES_ENDPOINT, "https://d/spans");
        assert_eq!(
            endpoint_of(&[base]).as_deref(),
            Some("http://c:4318/otel/v1/traces")
        );
        assert_eq!(
            endpoint_of(&[base, traces]).as_deref(),
            Some("https://d/spans")
        );
    }

    #[test]
    fn the_sampler_and_the_name_are_the_standard_ones() {
        let base = (ENDPOINT, "http://c:4318");
        let config = read(&[base]).unwrap().unwrap();
        assert_eq!(config.service_name, SERVICE_NAME);
        assert_eq!(format!("{:?}", config.sampler), "ParentBased(AlwaysOn)");
        let config = read(&[
            base,
            (SERVICE, "mine"),
            (SAMPLER, "parentbased_traceidratio"),
            (SAMPLER_ARG, "0.25"),
        ]);
        let config = config.unwrap().unwrap();
        assert_eq!(config.service_name, "mine");
        assert_eq!(
            format!("{:?}", config.sampler),
            "ParentBased(TraceIdRatioBased(0.25))"
        );
    }

    #[test]
    fn a_wrong_value_names_its_variable_and_what_is_allowed() {
        let base = (ENDPOINT, "http://c:4318");
        for (name, value) in [
            (TRACES_ENDPOINT, "collector:4318"),
            (EXPORTER, "zipkin"),
            (PROTOCOL, "grpc"),
            (TRACES_PROTOCOL, "http/json"),
            (SAMPLER, "sometimes"),
        ] {
            let error = read(&[base, (name, value)]).unwrap_err();
            assert_eq!((error.name, error.value.as_str()), (name, value));
        }
        let error = read(&[base, (SAMPLER, "traceidratio"), (SAMPLER_ARG, "7")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "OTEL_TRACES_SAMPLER_ARG=\"7\" is not understood: use a number from 0 to 1"
        );
    }
}
