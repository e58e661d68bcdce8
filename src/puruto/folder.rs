//! One folder read from disk: the Puruto in it, as far as it can be read, and every finding.

use std::{io, path::Path, path::PathBuf};

use super::{
    OwnTool, Puruto, SystemPrompt,
    spec::{Work, WorkerSpec},
    worker_toml::{self, WORKER_FILE},
};
use crate::{
    contract::PurutoName,
    handler::agent::Documents,
    policy::{Finding, FindingCode, POLICY_FILE, Policy, load_policy, read_bounded},
};

/// The name of the file that holds the system prompt.
const PROMPT_FILE: &str = "prompt.md";
/// The name of the folder that holds the documents.
pub(super) const DOCS_FOLDER: &str = "docs";

/// Longest `worker.toml`, in bytes.
const WORKER_BYTES_MAX: u64 = 64 * 1024;
/// Longest `response_schema`, in bytes.
const SCHEMA_BYTES_MAX: u64 = 256 * 1024;
/// Longest `prompt.md`, in bytes of UTF-8; as long as a request's own prompt may be.
const PROMPT_BYTES_MAX: u64 = 256 * 1024;
/// Most files in `docs/`.
const DOCS_MAX: usize = 1_000;

/// Reads `folder`: a Puruto, unless its name is none, and what is wrong with its files.
pub(super) fn read(folder: &Path) -> (Option<Puruto>, Vec<Finding>) {
    let name = match name(folder) {
        Ok(name) => name,
        Err(finding) => return (None, vec![finding]),
    };
    let mut reader = Reader {
        folder,
        findings: Vec::new(),
    };
    let puruto = Puruto {
        worker: reader.worker(),
        policy: reader.policy(&name),
        prompt: reader.prompt(),
        docs: reader.docs(),
        folder: folder.to_owned(),
        name,
    };
    reader.documents(&puruto);
    reader.note_a_folder_without_use(&puruto);
    (Some(puruto), reader.findings)
}

fn name(folder: &Path) -> Result<PurutoName, Finding> {
    let raw = folder.file_name().unwrap_or_default().to_string_lossy();
    raw.parse().map_err(|error| {
        let message = format!("the folder's name is no Puruto's: {error}");
        Finding::whole(FindingCode::InvalidPurutoFolder, folder, message)
    })
}

struct Reader<'f> {
    folder: &'f Path,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn worker(&mut self) -> Option<WorkerSpec> {
        let file = self.folder.join(WORKER_FILE);
        let bytes = self.bytes(FindingCode::InvalidWorkerConfig, &file, WORKER_BYTES_MAX)?;
        let beside = |name: &Path| read_bounded(&self.folder.join(name), SCHEMA_BYTES_MAX);
        let read = worker_toml::parse(&file, &bytes, &beside);
        read.map_err(|errors| self.findings.extend(errors)).ok()
    }

    fn policy(&mut self, caller: &PurutoName) -> Option<Policy> {
        match load_policy(self.folder, caller) {
            Ok(checked) => {
                let checked = checked?;
                self.findings.extend(checked.warnings);
                Some(checked.policy)
            }
            Err(errors) => {
                self.findings.extend(errors);
                None
            }
        }
    }

    fn prompt(&mut self) -> Option<SystemPrompt> {
        let file = self.folder.join(PROMPT_FILE);
        let bytes = self.bytes(FindingCode::InvalidPurutoFolder, &file, PROMPT_BYTES_MAX)?;
        match String::from_utf8(bytes) {
            Ok(text) => Some(SystemPrompt(text.into())),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let why = format!("is no UTF-8 text: invalid byte at offset {at}");
                self.error(FindingCode::InvalidPurutoFolder, &file, why);
                None
            }
        }
    }

    fn docs(&mut self) -> Vec<PathBuf> {
        let folder = self.folder.join(DOCS_FOLDER);
        let why = match list_files(&folder) {
            Ok(docs) if docs.len() <= DOCS_MAX => return docs,
            Ok(docs) => format!("holds {} documents: at most {DOCS_MAX}", docs.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => format!("cannot be read: {error}"),
        };
        self.error(FindingCode::InvalidPurutoFolder, &folder, why);
        Vec::new()
    }

    /// What an agent may search has to be text, within bounds.
    fn documents(&mut self, puruto: &Puruto) {
        let work = puruto.worker.as_ref().map(|it| &it.work);
        if !matches!(work, Some(Work::Agent(agent)) if agent.tools.contain(OwnTool::Search)) {
            return;
        }
        let folder = puruto.docs_folder();
        if let Err(fault) = Documents::load(&folder) {
            self.error(FindingCode::InvalidPurutoFolder, &folder, fault.to_string());
        }
    }

    /// Neither file at all: not even one that has mistakes, which are told already.
    fn note_a_folder_without_use(&mut self, puruto: &Puruto) {
        if puruto.worker.is_none() && puruto.policy.is_none() && self.findings.is_empty() {
            let message = format!("has neither {WORKER_FILE} nor {POLICY_FILE}: it does nothing");
            let code = FindingCode::InvalidPurutoFolder;
            self.findings
                .push(Finding::warning(code, self.folder, "$", message));
        }
    }

    fn bytes(&mut self, code: FindingCode, file: &Path, limit: u64) -> Option<Vec<u8>> {
        match read_bounded(file, limit) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.error(code, file, error.to_string());
                None
            }
        }
    }

    fn error(&mut self, code: FindingCode, file: &Path, why: String) {
        self.findings.push(Finding::whole(code, file, why));
    }
}

/// The regular files in `folder`, sorted; those whose name begins with a dot are not ours.
fn list_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
