//! A table for a person at a terminal.

use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};

use super::show::plain;

/// The rows under their head; `none` when there are none.
pub(super) fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return "none".to_owned();
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(head);
    for row in rows {
        table.add_row(row.iter().map(|cell| plain(cell)));
    }
    table.to_string()
}
