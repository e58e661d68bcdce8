//! Why each dependency is there.

use crate::project::Project;

/// Dependencies without a comment on the line above.
pub(crate) fn unreasoned(project: &Project) -> Vec<String> {
    let manifest = project.file("Cargo.toml");
    let (mut in_section, mut above) = (false, "");
    let mut faults = Vec::new();
    for line in manifest.text.lines() {
        if let Some(section) = line.strip_prefix('[') {
            in_section = section.trim_end_matches(']').ends_with("dependencies");
        } else if let Some((name, _)) = line.split_once('=')
            && in_section
            && is_name(name)
            && !is_reason(above)
        {
            let what = format!("no comment above `{}` says why it is there", name.trim());
            faults.push(manifest.fault(&what));
        }
        above = line;
    }
    faults
}

fn is_name(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_alphanumeric)
}

fn is_reason(line: &str) -> bool {
    let comment = line.strip_prefix('#').unwrap_or_default();
    comment.split_whitespace().count() > 1
}
