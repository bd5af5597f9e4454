//! Prints values in the usual layout of configuration files.

use serde_json::Value;

/// The layout of a document.
pub(super) struct Style {
    /// The indentation of one level.
    pub(super) unit: String,
    pub(super) line_end: &'static str,
    /// True if the document is on one line.
    pub(super) in_one_line: bool,
}

/// The maximum length of a list of plain values on one line.
const LINE: usize = 80;

impl Style {
    pub(super) fn of(text: &str) -> Style {
        let line_end = match text.contains("\r\n") {
            true => "\r\n",
            false => "\n",
        };
        let indents = text.lines().skip(1).filter_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            let indent = &line[..line.len() - rest.len()];
            (!indent.is_empty() && rest.starts_with('"')).then_some(indent)
        });
        let unit = indents.min_by_key(|indent| indent.len()).unwrap_or("  ");
        Style {
            // Deeper indentation is probably alignment and not one level.
            unit: if unit.len() > 8 { "  " } else { unit }.to_owned(),
            line_end,
            in_one_line: !text.trim().contains('\n'),
        }
    }

    /// Formats a value that starts on a line indented by `indent`.
    pub(super) fn print(&self, value: &Value, indent: &str) -> String {
        let mut out = String::new();
        self.write(value, indent, &mut out);
        out
    }

    /// Formats a member.
    pub(super) fn member(&self, key: &str, value: &Value, indent: &str) -> String {
        let key = Value::from(key);
        format!("{key}: {}", self.print(value, indent))
    }

    // The depth is limited by the parser of the JSON texts that the values come from.
    fn write(&self, value: &Value, indent: &str, out: &mut String) {
        let one_line = self.in_one_line || is_short(value);
        let deeper = format!("{indent}{}", self.unit);
        let (open, close, items): (_, _, Vec<String>) = match value {
            Value::Object(members) => {
                let members = members.iter();
                let items = members.map(|(key, value)| self.member(key, value, &deeper));
                ("{", "}", items.collect())
            }
            Value::Array(elements) => {
                let elements = elements.iter();
                let items = elements.map(|value| self.print(value, &deeper));
                ("[", "]", items.collect())
            }
            plain => return out.push_str(&plain.to_string()),
        };
        out.push_str(open);
        let pad = match (open, items.is_empty()) {
            ("{", false) => " ",
            _ => "",
        };
        if one_line || items.is_empty() {
            out.push_str(pad);
            out.push_str(&items.join(", "));
            out.push_str(pad);
        } else {
            let line = format!("{}{deeper}", self.line_end);
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                out.push_str(&line);
                out.push_str(item);
            }
            out.push_str(self.line_end);
            out.push_str(indent);
        }
        out.push_str(close);
    }
}

/// Returns true for a short list of plain values, such as the arguments of a command.
fn is_short(value: &Value) -> bool {
    let Value::Array(elements) = value else {
        return false;
    };
    let is_plain = |value: &Value| !value.is_object() && !value.is_array();
    elements.iter().all(is_plain) && value.to_string().len() <= LINE
}
