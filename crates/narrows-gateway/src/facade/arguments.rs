//! Whether the arguments of a call are what the tool's own schema wants.

use narrows_wire::Raw;

pub(crate) struct Checker {
    required: Vec<String>,
}

pub(crate) struct Rejection {
    pub(crate) message: String,
    pub(crate) errors: Vec<(String, String)>,
}

impl Checker {
    pub(crate) fn new(schema: Option<&Raw>) -> Checker {
        let required = schema.and_then(|schema| schema.member("required"));
        let names = required.iter().flat_map(Raw::elements);
        Checker {
            required: names
                .filter_map(|name| name.as_text().map(Into::into))
                .collect(),
        }
    }

    pub(crate) fn check(&self, arguments: &Raw) -> Result<(), Rejection> {
        let missing = |name: &&String| arguments.member(name).is_none();
        match self.required.iter().find(missing) {
            None => Ok(()),
            Some(name) => {
                let message = format!("Missing required argument: '{name}'");
                Err(Rejection {
                    message: format!("Argument validation failed: {message}"),
                    errors: vec![(String::new(), message)],
                })
            }
        }
    }
}
