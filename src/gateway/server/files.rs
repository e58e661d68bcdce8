//! Enough open files for the connections that are let in.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a gateway has open beside connections: servers, skills, logs, its own ports.
const OTHERS: u64 = 64;

/// Lets this process open as many files as the system allows it. Where that is less than the
/// connections need, more of them wait than the configuration says.
pub(super) fn allow(connections: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = connections.saturating_add(OTHERS);
    // No limit at all is none that is too low.
    if current.is_none_or(|current| current >= needed) {
        return;
    }
    let current = maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = Rlimit {
        current: Some(current),
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "open_files_limit_kept");
    } else if current < needed {
        tracing::warn!(
            open_files = current,
            needed,
            "fewer files can be open than gateway.max_connections needs: raise `ulimit -n`"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes_and_never_lowered() {
        let current = || getrlimit(Resource::Nofile).current;
        let Rlimit {
            current: before,
            maximum,
        } = getrlimit(Resource::Nofile);
        allow(0);
        assert_eq!(current(), before);
        let (Some(before), Some(maximum)) = (before, maximum) else {
            return;
        };
        // Other tests of this process may open what they need meanwhile.
        allow(before);
        assert_eq!(current(), Some((before + OTHERS).min(maximum)));
        allow(u64::MAX);
        assert_eq!(current(), Some(maximum));
    }
}
