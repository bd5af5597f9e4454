//! The recovery call in the form in which a model has to write it.

/// The recovery tool as clients of an endpoint call it, and the receipt of a text.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryCall<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The receipt under which the whole text is stored.
    pub receipt: &'a str,
    pub form: RecoveryForm,
}

/// The form of a call to the recovery tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryForm {
    /// A listed tool that is called by its name.
    Direct,
    /// A tool of the server `narrows` that is called through `exec`.
    Exec,
}

/// The part of a text that a call requests, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryRange {
    All,
    /// The lines or rows that contain certain words.
    Search,
    Lines(usize, usize),
    /// Rows of the largest array of objects.
    Rows(usize, usize),
    Chars(usize, usize),
}

impl RecoveryCall<'_> {
    /// Writes the call. For lines and rows, a search comes first and the ranges are the
    /// alternative.
    pub fn call(&self, range: RecoveryRange) -> String {
        let RecoveryCall {
            tool,
            receipt,
            form,
        } = self;
        let ranges = match range {
            RecoveryRange::Lines(first, last) => Some(format!("{first}-{last}")),
            RecoveryRange::Rows(first, last) => Some(format!("rows {first}-{last}")),
            _ => None,
        };
        match (form, range, ranges) {
            (RecoveryForm::Direct, _, Some(ranges)) => {
                format!("{tool} prune_id={receipt} query=\"words\" or ranges=\"{ranges}\"")
            }
            (RecoveryForm::Direct, RecoveryRange::Search, _) => {
                format!("{tool} prune_id={receipt} query=\"words\"")
            }
            (RecoveryForm::Direct, RecoveryRange::Chars(first, last), _) => {
                format!("{tool} prune_id={receipt} start_char={first} end_char={last}")
            }
            (RecoveryForm::Direct, ..) => format!("{tool} prune_id={receipt}"),
            (RecoveryForm::Exec, _, Some(ranges)) => format!(
                "exec(\"narrows\", \"{tool}\", {{\"prune_id\": \"{receipt}\", \"query\": \"words\"}}) or \"ranges\": \"{ranges}\""
            ),
            (RecoveryForm::Exec, RecoveryRange::Search, _) => format!(
                "exec(\"narrows\", \"{tool}\", {{\"prune_id\": \"{receipt}\", \"query\": \"words\"}})"
            ),
            (RecoveryForm::Exec, RecoveryRange::Chars(first, last), _) => format!(
                "exec(\"narrows\", \"{tool}\", {{\"prune_id\": \"{receipt}\", \"start_char\": {first}, \"end_char\": {last}}})"
            ),
            (RecoveryForm::Exec, ..) => {
                format!("exec(\"narrows\", \"{tool}\", {{\"prune_id\": \"{receipt}\"}})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_call_uses_the_syntax_of_the_endpoint() {
        let direct = RecoveryCall {
            tool: "recover_text",
            receipt: "prn_1",
            form: RecoveryForm::Direct,
        };
        let exec = RecoveryCall {
            form: RecoveryForm::Exec,
            ..direct
        };
        for (range, by_name, by_exec) in [
            (
                RecoveryRange::Lines(201, 5_012),
                "recover_text prune_id=prn_1 query=\"words\" or ranges=\"201-5012\"",
                "exec(\"narrows\", \"recover_text\", {\"prune_id\": \"prn_1\", \"query\": \"words\"}) or \"ranges\": \"201-5012\"",
            ),
            (
                RecoveryRange::Rows(3, 90),
                "recover_text prune_id=prn_1 query=\"words\" or ranges=\"rows 3-90\"",
                "exec(\"narrows\", \"recover_text\", {\"prune_id\": \"prn_1\", \"query\": \"words\"}) or \"ranges\": \"rows 3-90\"",
            ),
            (
                RecoveryRange::Chars(1, 9),
                "recover_text prune_id=prn_1 start_char=1 end_char=9",
                "exec(\"narrows\", \"recover_text\", {\"prune_id\": \"prn_1\", \"start_char\": 1, \"end_char\": 9})",
            ),
            (
                RecoveryRange::Search,
                "recover_text prune_id=prn_1 query=\"words\"",
                "exec(\"narrows\", \"recover_text\", {\"prune_id\": \"prn_1\", \"query\": \"words\"})",
            ),
            (
                RecoveryRange::All,
                "recover_text prune_id=prn_1",
                "exec(\"narrows\", \"recover_text\", {\"prune_id\": \"prn_1\"})",
            ),
        ] {
            assert_eq!(direct.call(range), by_name);
            assert_eq!(exec.call(range), by_exec);
        }
    }
}
