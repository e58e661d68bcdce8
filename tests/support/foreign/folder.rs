//! Gets a foreign tool into the project's tool folder, one process at a time.

use std::{
    fs,
    path::{Path, PathBuf},
};

use puruto_fleet::dev::{find::Places, install::lock};

use crate::support::say;

/// Where a tool is made before it is moved into place; only the lock's holder touches it.
const INCOMING: &str = "incoming";

/// The file or folder `name` of the tool folder, made by `make` unless it is there already.
///
/// `make` is handed an empty folder and leaves `name` in it; what is in place is therefore whole.
pub(super) async fn have(
    places: &Places,
    name: &str,
    make: impl AsyncFnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let placed = places.tool_folder.join(name);
    if placed.exists() {
        return Ok(placed);
    }
    fs::create_dir_all(&places.tool_folder).map_err(describe(&places.tool_folder))?;
    let folder = places.tool_folder.canonicalize();
    let folder = folder.map_err(describe(&places.tool_folder))?;
    let locked = lock::acquire(&folder, &say).await;
    let _lock = locked.map_err(|error| error.to_string())?;
    if placed.exists() {
        return Ok(placed);
    }
    let incoming = folder.join(INCOMING);
    clear(&incoming)?;
    fs::create_dir(&incoming).map_err(describe(&incoming))?;
    let made = make(&incoming).await;
    let moved = made.and_then(|()| {
        let made = incoming.join(name);
        fs::rename(&made, &placed).map_err(describe(&made))
    });
    clear(&incoming)?;
    moved.map(|()| placed)
}

/// Takes away what this or a killed install left there.
fn clear(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(describe(folder))?;
    }
    Ok(())
}

fn describe(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}
