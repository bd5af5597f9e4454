//! `narrows presets`: the presets of a running gateway.

use std::fmt::Write;
use std::io;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::ChangeResult;
use super::servers::flag;
use super::{Exit, entry, suggest};
use crate::admin_client::{AdminClient, AdminClientError, Resource, report_outcome};
use crate::cli::operator::{
    DeletePreset, GatewayOptions, OnePreset, Presets, PresetsAction, PutPreset, SaveOptions,
    UsePreset,
};
use crate::config::Environment;
use crate::terminal::{Palette, Tone, answer, counted, plain};

pub(crate) async fn run(options: Presets, environment: &Environment) -> anyhow::Result<Exit> {
    let action = options
        .action
        .unwrap_or(PresetsAction::List(options.gateway_options));
    let result = match action {
        PresetsAction::List(gateway_options) => list(&gateway_options, environment).await,
        PresetsAction::Show(options) => show(&options, environment).await,
        PresetsAction::Put(options) => put(&options, environment).await,
        PresetsAction::Delete(options) => delete(&options, environment).await,
        PresetsAction::Use(options) => use_preset(&options, environment).await,
    };
    Ok(report_outcome(result))
}

#[derive(Debug, Deserialize)]
struct PresetList {
    presets: Vec<Preset>,
}

#[derive(Debug, Deserialize)]
struct Preset {
    id: String,
    #[serde(default)]
    endpoints: Vec<String>,
    #[serde(default)]
    sessions: usize,
    tools: Option<Vec<String>>,
    prompts: Option<Vec<String>>,
    resources: Option<Vec<String>>,
}

async fn list(
    gateway_options: &GatewayOptions,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(gateway_options, environment)?;
    let value = client.get(Resource::at(&["presets"])).await?;
    let list: PresetList = client.understood(&value)?;
    let palette = Palette::of(&io::stdout(), environment.no_color());
    let text = match gateway_options.json {
        true => format!("{value:#}\n"),
        false if list.presets.is_empty() => "there are no presets\n".to_owned(),
        false => list.for_people(palette),
    };
    answer(&text)?;
    Ok(Exit::Done)
}

async fn show(options: &OnePreset, environment: &Environment) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let value = client.get(Resource::at(&["presets"])).await?;
    let list: PresetList = client.understood(&value)?;
    let place = list
        .presets
        .iter()
        .position(|preset| preset.id == options.id);
    let Some(place) = place else {
        let ids = list.presets.iter().map(|preset| preset.id.as_str());
        let (id, near) = (plain(&options.id), suggest(&options.id, ids));
        return Err(AdminClientError::failed(format!(
            "there is no preset '{id}'{near}"
        )));
    };
    let palette = Palette::of(&io::stdout(), environment.no_color());
    answer(&match options.gateway_options.json {
        true => format!("{:#}\n", value["presets"][place]),
        false => list.presets[place].with_entries(palette),
    })?;
    Ok(Exit::Done)
}

async fn put(options: &PutPreset, environment: &Environment) -> Result<Exit, AdminClientError> {
    let file = options.file.to_string_lossy();
    let preset = entry::parse(&entry::read_text(&file)?, "the preset")?;
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let path = Resource::at(&["presets", &options.id]);
    let change = ask(
        &client,
        Method::PUT,
        path,
        Some(&preset),
        &options.save_options,
    );
    print_change(
        &client,
        &change.await?,
        &options.save_options,
        &options.gateway_options,
    )
}

async fn delete(
    options: &DeletePreset,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let path = Resource::at(&["presets", &options.id]);
    let change = ask(&client, Method::DELETE, path, None, &options.save_options);
    print_change(
        &client,
        &change.await?,
        &options.save_options,
        &options.gateway_options,
    )
}

async fn use_preset(
    options: &UsePreset,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let body = json!({ "preset": options.id });
    if let Some(name) = &options.endpoint {
        let path = Resource::at(&["endpoints", name, "preset"]);
        let change = ask(
            &client,
            Method::PUT,
            path,
            Some(&body),
            &options.save_options,
        );
        return print_change(
            &client,
            &change.await?,
            &options.save_options,
            &options.gateway_options,
        );
    }
    let number = options.session.unwrap_or_default();
    let path = Resource::at(&["sessions", &number.to_string(), "preset"]);
    let value = client.send(Method::PUT, path, Some(&body)).await?;
    let text = match (options.gateway_options.json, &options.id) {
        (true, _) => format!("{value:#}\n"),
        (false, Some(id)) => format!("session {number} now has the preset '{}'\n", plain(id)),
        (false, None) => format!("session {number} now has no preset of its own\n"),
    };
    answer(&text)?;
    Ok(Exit::Done)
}

/// Requests a change to the configuration.
async fn ask(
    client: &AdminClient,
    method: Method,
    path: Resource,
    body: Option<&Value>,
    save_options: &SaveOptions,
) -> Result<Value, AdminClientError> {
    let path = path.with("save", flag(save_options.save));
    client.send(method, path, body).await
}

fn print_change(
    client: &AdminClient,
    value: &Value,
    save_options: &SaveOptions,
    gateway_options: &GatewayOptions,
) -> Result<Exit, AdminClientError> {
    let change: ChangeResult = client.understood(value)?;
    change.tell_warnings();
    answer(&match gateway_options.json {
        true => format!("{value:#}\n"),
        false => change.for_people(save_options.save),
    })?;
    Ok(Exit::Done)
}

impl PresetList {
    fn for_people(&self, palette: Palette) -> String {
        let widths = self.presets.iter().map(Preset::width);
        let width = widths.max().unwrap_or(0);
        let lines = self.presets.iter();
        lines.map(|preset| preset.line(width, palette)).collect()
    }
}

impl Preset {
    fn width(&self) -> usize {
        plain(&self.id).chars().count()
    }

    fn line(&self, width: usize, palette: Palette) -> String {
        let id = palette.paint(Tone::Strong, &format!("{:<width$}", plain(&self.id)));
        format!("{id}  {}\n", self.in_force())
    }

    fn with_entries(&self, palette: Palette) -> String {
        let mut text = self.line(self.width(), palette);
        let lists = [
            ("tools", &self.tools),
            ("prompts", &self.prompts),
            ("resources", &self.resources),
        ];
        for (name, entries) in lists {
            let _ = writeln!(text, "  {name:<9}  {}", entries_as_text(entries.as_deref()));
        }
        text
    }

    /// Describes the endpoints and sessions that use the preset.
    fn in_force(&self) -> String {
        let mut parts = Vec::new();
        if !self.endpoints.is_empty() {
            let names = self.endpoints.join(", ");
            parts.push(format!("in force at {}", plain(&names)));
        }
        if self.sessions > 0 {
            parts.push(format!("in {}", counted(self.sessions, "session")));
        }
        match parts.is_empty() {
            true => "not in force".to_owned(),
            false => parts.join(", "),
        }
    }
}

/// Formats the entries of a list in one line.
fn entries_as_text(entries: Option<&[String]>) -> String {
    match entries {
        None => "not restricted".to_owned(),
        Some([]) => "none".to_owned(),
        Some(entries) => plain(&entries.join(", ")).into_owned(),
    }
}
