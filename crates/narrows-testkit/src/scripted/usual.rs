//! Default answers to requests for which the script has no rule.

use serde_json::{Value, json};

use super::server::{Exchange, ScriptedServer};

impl ScriptedServer {
    fn capabilities(&self) -> String {
        if let Some(capabilities) = &self.script.capabilities {
            return capabilities.clone();
        }
        let lists = &self.script.lists;
        let mut capabilities = json!({ "logging": {}, "completions": {} });
        if !lists.tools.is_empty() {
            capabilities["tools"] = json!({ "listChanged": true });
        }
        if !lists.prompts.is_empty() {
            capabilities["prompts"] = json!({ "listChanged": true });
        }
        if !lists.resources.is_empty() || !lists.templates.is_empty() {
            capabilities["resources"] = json!({ "listChanged": true, "subscribe": true });
        }
        capabilities.to_string()
    }
}

impl Exchange<'_> {
    /// Answers the request as a working server does.
    pub(super) fn usual(&mut self) {
        let params = self.message["params"].clone();
        let lists = self.server.lists.lock().expect("no step panics").clone();
        let script = &self.server.script;
        match self.message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let revision = script
                    .revision
                    .as_deref()
                    .or(params["protocolVersion"].as_str());
                let mut result = json!({
                    "protocolVersion": revision.unwrap_or("2025-11-25"),
                    "serverInfo": { "name": script.name, "version": "1.0.0" },
                });
                if let Some(instructions) = &script.instructions {
                    result["instructions"] = instructions.as_str().into();
                }
                // The capabilities are inserted as text, so that they stay unchanged byte for byte.
                let result = result.to_string();
                let members = result.strip_suffix('}').unwrap_or_default();
                let capabilities = self.server.capabilities();
                self.reply(&format!(r#"{members},"capabilities":{capabilities}}}"#));
            }
            "tools/list" => self.page("tools", &lists.tools),
            "prompts/list" => self.page("prompts", &lists.prompts),
            "resources/list" => self.page("resources", &lists.resources),
            "resources/templates/list" => self.page("resourceTemplates", &lists.templates),
            "tools/call" if names(&lists.tools, "name").contains(&params["name"]) => {
                self.reply_text(&format!(
                    "{} called {} with {}",
                    script.name, params["name"], params["arguments"]
                ));
            }
            "tools/call" => self.refuse(-32602, &format!("Unknown tool: {}", params["name"])),
            "prompts/get" => {
                let text = format!(
                    "{} prompts {} with {}",
                    script.name, params["name"], params["arguments"]
                );
                let content = json!({ "type": "text", "text": text });
                self.reply(
                    &json!({ "messages": [{ "role": "user", "content": content }] }).to_string(),
                );
            }
            "resources/read" => {
                let text = format!("{} reads {}", script.name, params["uri"]);
                self.reply(
                    &json!({ "contents": [{ "uri": params["uri"], "text": text }] }).to_string(),
                );
            }
            "completion/complete" => {
                let value = format!("{}-completes", script.name);
                self.reply(&json!({ "completion": { "values": [value] } }).to_string());
            }
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                self.reply("{}")
            }
            method => self.refuse(-32601, &format!("Method not found: {method}")),
        }
    }

    fn page(&mut self, key: &str, items: &[String]) {
        let size = match self.server.script.page_size {
            0 => items.len().max(1),
            size => size,
        };
        // Cursors are opaque to clients, so plain offsets suffice.
        let cursor = self.message["params"]["cursor"]
            .as_str()
            .map_or(Ok(0), str::parse::<usize>);
        let Ok(start) = cursor else {
            return self.refuse(-32602, "Unknown cursor");
        };
        let end = items.len().min(start + size);
        let page = items.get(start..end).unwrap_or_default().join(",");
        let next = if end < items.len() {
            format!(r#","nextCursor":"{end}""#)
        } else {
            String::new()
        };
        self.reply(&format!(r#"{{"{key}":[{page}]{next}}}"#));
    }
}

fn names(items: &[String], key: &str) -> Vec<Value> {
    items
        .iter()
        .filter_map(|item| serde_json::from_str::<Value>(item).ok())
        .map(|mut item| item[key].take())
        .collect()
}
