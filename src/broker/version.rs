//! Which servers the fleet works with.

use super::BrokerFault;

/// The oldest release that has all that is used here.
const OLDEST: [u64; 3] = [2, 10, 0];

/// Refuses a server that is too old, or whose version cannot be told, naming what was found.
///
/// # Errors
/// [`BrokerFault::Unsuitable`].
pub(super) fn check(version: &str) -> Result<(), BrokerFault> {
    match parse(version) {
        Some(found) if found >= OLDEST => Ok(()),
        Some(_) | None => {
            let [major, minor, patch] = OLDEST;
            Err(BrokerFault::Unsuitable(format!(
                "nats-server {version:?} is not supported: use {major}.{minor}.{patch} or newer"
            )))
        }
    }
}

/// `2.10.7`, `v2.12.0-RC.3`.
fn parse(version: &str) -> Option<[u64; 3]> {
    let plain = version.strip_prefix('v').unwrap_or(version);
    let core = plain.split(['-', '+']).next()?;
    let mut numbers = core.split('.').map(|number| number.parse().ok());
    let parsed = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_2_10_or_newer_will_do() {
        for good in ["2.10.0", "2.15.1", "v2.12.0-RC.3", "3.0.0", "2.11.0-dev+1"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn an_older_server_is_refused_by_its_version() {
        let refused = check("2.9.10").unwrap_err().to_string();
        assert_eq!(
            refused,
            "nats-server \"2.9.10\" is not supported: use 2.10.0 or newer"
        );
        for bad in ["", "2", "2.x.1", "1.4.1", "2.10.0.1"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
