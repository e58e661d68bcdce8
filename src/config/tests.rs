//! What a configuration may be, and what is said when it is not.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use tempfile::TempDir;

use super::*;

/// A working folder with its files, an environment and flags.
struct World {
    folder: TempDir,
    environment: Environment,
    flags: Vec<Flag>,
}

impl World {
    fn new() -> Self {
        Self {
            folder: TempDir::new().expect("a folder"),
            environment: Environment::default(),
            flags: Vec::new(),
        }
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("written");
        self
    }

    fn variables(mut self, pairs: &[(&str, &str)]) -> Self {
        self.environment = pairs.iter().copied().collect();
        self
    }

    fn flag(mut self, flag: &str, key: &str, value: &str) -> Self {
        let [flag, key, value] = [flag, key, value].map(str::to_owned);
        self.flags.push(Flag { flag, key, value });
        self
    }

    fn gather(&self) -> Result<Gathered, Mistakes> {
        gather(&Inputs {
            folder: self.folder.path(),
            file: None,
            environment: &self.environment,
            flags: &self.flags,
        })
    }

    #[track_caller]
    fn gathered(&self) -> Gathered {
        self.gather().expect("no mistake")
    }

    /// The mistakes, one a line, with paths relative to the folder.
    #[track_caller]
    fn mistakes(&self) -> String {
        let text = self.gather().expect_err("mistakes").to_string();
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn source(gathered: &Gathered, section: &str, name: &str) -> String {
    let source = gathered.effective.source_of(section, name);
    source.expect("a key").to_string()
}

#[test]
fn every_default_is_a_value_of_its_key_and_goes_with_the_others() {
    let config = World::new().gathered().config;
    assert_eq!(config.redis.session_renew, Duration::from_millis(3_750));
    assert_eq!(config.nats.replicas.get(), 1);
    assert_eq!(config.worker.workers_dir, Path::new("workers"));
    assert!(config.worker.targets.is_empty() && config.worker.id.is_none());
}

#[test]
fn each_layer_wins_over_the_one_below_and_is_named_as_the_source() {
    let mut world = World::new().file("config/fleet.toml", "\n[client]\ncaller = \"from-file\"\n");
    assert_eq!(world.gathered().config.client.caller.as_str(), "from-file");
    let shown = source(&world.gathered(), "client", "caller");
    assert!(shown.ends_with("config/fleet.toml:3"), "{shown}");

    world = world.variables(&[("PURUTO_CLIENT__CALLER", "from-variable")]);
    assert_eq!(
        world.gathered().config.client.caller.as_str(),
        "from-variable"
    );
    assert_eq!(
        source(&world.gathered(), "client", "caller"),
        "PURUTO_CLIENT__CALLER"
    );

    world = world.flag("--caller", "client.caller", "from-flag");
    assert_eq!(world.gathered().config.client.caller.as_str(), "from-flag");
    assert_eq!(source(&world.gathered(), "client", "caller"), "--caller");
    assert_eq!(source(&world.gathered(), "client", "grace"), "default");
}

#[test]
fn a_well_known_variable_counts_but_ours_says_it_more_exactly() {
    let world = World::new().variables(&[("NATS_URL", "nats://theirs:1")]);
    assert_eq!(
        world.gathered().config.nats.url.to_string(),
        "nats://theirs:1"
    );
    let world = world.variables(&[
        ("NATS_URL", "nats://theirs:1"),
        ("PURUTO_NATS__URL", "nats://ours:2"),
    ]);
    assert_eq!(
        world.gathered().config.nats.url.to_string(),
        "nats://ours:2"
    );
}

#[test]
fn an_empty_variable_is_as_good_as_none() {
    let world = World::new().variables(&[("NATS_URL", ""), ("PURUTO_CLIENT__GRACE", "")]);
    assert_eq!(source(&world.gathered(), "nats", "url"), "default");
}

#[test]
fn what_dev_left_behind_is_used_unless_the_environment_names_a_server() {
    let left = "NATS_URL=nats://127.0.0.1:4333\nREDIS_URL=redis://127.0.0.1:6333\nOTHER=1\n";
    let world = World::new()
        .file("config/fleet.toml", "[nats]\nurl = \"nats://file:1\"\n")
        .file(DEV_ENV, left);
    let gathered = world.gathered();
    assert_eq!(gathered.config.redis.url.to_string(), "127.0.0.1:6333");
    let shown = source(&gathered, "nats", "url");
    assert!(shown.ends_with(".puruto/dev.env NATS_URL"), "{shown}");

    let gathered = world.variables(&[("NATS_URL", "nats://mine:1")]).gathered();
    assert_eq!(source(&gathered, "nats", "url"), "NATS_URL");
    assert_eq!(source(&gathered, "redis", "url"), "default");
}

#[test]
fn every_mistake_is_reported_at_once_with_key_value_place_and_what_is_allowed() {
    let text = "[nats]\nurll = \"x\"\nreplicas = 7\nstorage = true\n\
                [redis]\nresponse_timeout = 5\n[nast]\nurl = 1\n";
    let world = World::new()
        .file("config/fleet.toml", text)
        .variables(&[
            ("PURUTO_WORKER__DRAIN_TIMEOUT", "0s"),
            ("PURUTO_WORKER__DRAIN", "1s"),
            ("PURUTO_LOG__FORMAT", "xml"),
        ])
        .flag("--set", "client", "x")
        .flag("--nats", "nats.url", "http://x");
    let file = "config/fleet.toml";
    let expected = [
        format!("{file}:2: unknown key nats.urll; [nats] has url, "),
        format!(
            "{file}:7: unknown key nast; the sections are nats, redis, worker, runtime, delegation, prices, events, log, client"
        ),
        "PURUTO_WORKER__DRAIN: unknown key worker.drain; [worker] has workers_dir, ".to_owned(),
        "--set: unknown key client; [client] has caller, ".to_owned(),
        "--nats: nats.url = \"http://x\": \"http\" is another protocol; it takes nats://"
            .to_owned(),
        format!(
            "{file}:3: nats.replicas = \"7\": it is out of bounds; it takes an integer from 1 to 5"
        ),
        format!(
            "{file}:4: nats.storage = \"true\": true or false stands there; it takes file or memory"
        ),
        format!("{file}:6: redis.response_timeout = \"5\": the unit is missing; it takes a time"),
        "PURUTO_WORKER__DRAIN_TIMEOUT: worker.drain_timeout = \"0s\": it is zero; ".to_owned(),
        "PURUTO_LOG__FORMAT: log.format = \"xml\": it is none of the words; it takes auto or json"
            .to_owned(),
    ];
    let found = world.mistakes();
    let mut rest: Vec<_> = found.lines().collect();
    for part in expected {
        let at = rest.iter().position(|line| line.contains(&part));
        rest.remove(at.unwrap_or_else(|| panic!("{part:?} is not said in:\n{found}")));
    }
    assert!(rest.is_empty(), "{rest:?}");
}

#[test]
fn a_file_that_is_no_toml_says_where() {
    let world = World::new().file("config/fleet.toml", "[nats]\nurl = \nreplicas = 3\n");
    assert!(world.mistakes().starts_with("config/fleet.toml:2: "));
}

#[test]
fn a_named_file_must_be_there() {
    let world = World::new().variables(&[("PURUTO_CONFIG", "/nowhere/fleet.toml")]);
    assert!(world.mistakes().starts_with("/nowhere/fleet.toml: "));
}

#[test]
fn values_that_do_not_go_together_are_a_mistake_that_shows_them() {
    let world = World::new().variables(&[
        ("PURUTO_REDIS__SESSION_RENEW", "10s"),
        ("PURUTO_NATS__USER", "fleet"),
        ("PURUTO_NATS__TOKEN", "t0ps3cret"),
    ]);
    let found = world.mistakes();
    assert!(
        found.contains("redis.session_renew = \"10s\" (PURUTO_REDIS__SESSION_RENEW), "),
        "{found}"
    );
    assert!(
        found.contains("a user and a password go together"),
        "{found}"
    );
    assert!(found.contains("only one way to log in"), "{found}");
    assert!(!found.contains("t0ps3cret"), "{found}");
}

#[test]
fn a_bound_is_not_asked_of_a_value_that_is_a_mistake_by_itself() {
    let world = World::new().variables(&[
        ("PURUTO_REDIS__SESSION_TTL", "soon"),
        ("PURUTO_REDIS__SESSION_RENEW", "10s"),
    ]);
    assert_eq!(world.mistakes().lines().count(), 1);
}

#[test]
fn no_secret_is_shown_anywhere() {
    let world = World::new().variables(&[
        ("PURUTO_NATS__PASSWORD", "t0ps3cret"),
        ("PURUTO_NATS__USER", "fleet"),
        ("NATS_URL", "nats://u:t0ps3cret@a:1,tls://t0ps3cret@b:2"),
        ("REDIS_URL", "redis://:t0,ps3cret@c:3/1"),
    ]);
    let gathered = world.gathered();
    let mut shown = format!(
        "{gathered:?} {:?} {}",
        world.environment, gathered.config.redis.url
    );
    for entry in gathered.effective.iter() {
        write!(shown, " {}", entry.value).expect("a string");
    }
    assert!(
        !shown.contains("s3cret") && !shown.contains("t0"),
        "{shown}"
    );
    assert!(
        shown.contains("nats://********@a:1,tls://********@b:2"),
        "{shown}"
    );
    let nats = gathered.config.nats;
    assert_eq!(nats.password.expect("given").expose(), "t0ps3cret");
    assert_eq!(nats.url.iter().nth(1), Some("tls://t0ps3cret@b:2"));

    let wrong = World::new().variables(&[("REDIS_URL", "rediz://:t0ps3cret@c:3/1")]);
    assert!(!wrong.mistakes().contains("s3cret"));
}

#[test]
fn lists_and_numbers_read_the_same_from_a_file_and_a_variable() {
    let text = "[worker]\ntargets = [\"a\", \"b\"]\n[redis]\npartitions = 0x20\n";
    let by_file = World::new().file("config/fleet.toml", text).gathered();
    let by_variable = World::new()
        .variables(&[
            ("PURUTO_WORKER__TARGETS", "a, b"),
            ("PURUTO_REDIS__PARTITIONS", "32"),
        ])
        .gathered();
    for gathered in [by_file, by_variable] {
        let names: Vec<_> = gathered.config.worker.targets;
        assert_eq!(names, ["a", "b"].map(|it| it.parse().expect("a name")));
        assert_eq!(gathered.config.redis.partitions.get(), 32);
    }
}

#[test]
fn prices_read_the_same_from_a_file_and_a_variable_and_a_wrong_one_is_a_mistake() {
    let text = "[prices]\nmodels = [\"m=0.15/0.60\", \"n=1/2\"]\n";
    let by_file = World::new().file("config/fleet.toml", text).gathered();
    let by_variable = World::new().variables(&[("PURUTO_PRICES__MODELS", "m=0.15/0.60, n=1/2")]);
    assert_eq!(
        by_file.config.prices.models,
        by_variable.gathered().config.prices.models
    );
    let wrong = World::new().variables(&[("PURUTO_PRICES__MODELS", "m=0.15")]);
    let found = wrong.mistakes();
    assert!(
        found.contains("prices.models = \"m=0.15\": ") && found.contains("it takes entries model="),
        "{found}"
    );
}

fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("config")
        .join(name);
    fs::read_to_string(path).expect("a shipped file")
}

#[test]
fn the_readme_lists_every_key_as_the_code_has_it() {
    let mut tables = String::new();
    let mut section = "";
    for key in keys() {
        if key.section != section {
            section = key.section;
            write!(
                tables,
                "\n### `[{section}]`\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
            )
            .expect("a string");
        }
        let default = match key.default {
            "" => "none".to_owned(),
            text => format!("`{text}`"),
        };
        writeln!(
            tables,
            "| `{}` | {} | {default} | {} |",
            key.name, key.kind, key.about
        )
        .expect("a string");
    }
    let readme = shipped("README.md");
    assert!(
        readme.contains(&tables),
        "config/README.md is stale; it should hold:\n{tables}"
    );
}

#[test]
fn the_shipped_file_shows_every_key_with_its_default() {
    let text = shipped("fleet.toml");
    assert!(
        World::new()
            .file("config/fleet.toml", &text)
            .gather()
            .is_ok()
    );
    // With the sign before each key taken away, the file says the defaults.
    let uncommented = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    let shown: String = text.lines().map(uncommented).collect();
    let gathered = World::new().file("config/fleet.toml", &shown).gathered();
    for entry in gathered.effective.iter() {
        assert_eq!(
            entry.value,
            entry.key.shown(entry.key.default),
            "{}",
            entry.key
        );
        assert!(
            matches!(entry.source, Source::File { .. }),
            "config/fleet.toml does not show {}",
            entry.key
        );
    }
}
