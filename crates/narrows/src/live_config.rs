//! Changes the configuration while the gateway runs. Saved files and changes by operators both go
//! through this module, and nothing else changes the configuration.
//!
//! The text of the file and the unsaved changes are checked together. If there is no error, the
//! gateway applies the differences; otherwise nothing changes. Changes are made one at a time, and
//! a change that has started completes even if the caller no longer waits.

mod added;
mod disk;
mod left_out;
mod message;
mod overlay;
mod saved;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use narrows_gateway::settings::Settings;
use narrows_gateway::{Applied, Gateway};
use narrows_serve::admin::{Change, Changed, ConfigurationStatus, Keep, Operations, Rejected};
use narrows_wire::Timestamp;
use tokio::sync::{Mutex, Notify};

use crate::config::{
    self, AdminChecked, CheckedConfig, Config, EditError, Environment, Problem, check_text, edit,
    has_preset, users_file,
};
use added::AddedServers;
use disk::WriteError;
use left_out::{correct_left_out, left_out_of};
use message::{ConfigWarning, Unusable, errors, invalid, rejected, summary, warnings_of};
use overlay::{LayeredText, Overlay};
use saved::{is_new_entry, saved};

/// The owner of the configuration in force.
pub(crate) struct LiveConfig(Arc<LiveConfigInner>);

/// The result of reading the file again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reloaded {
    /// The file has not changed.
    Same,
    Applied,
    /// The file cannot be used. The previous configuration stays in force.
    Refused,
}

/// The time at which to report a file that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorReporting {
    Now,
    /// Problems are not reported yet, because the file may be only partly written.
    NotYet,
}

struct LiveConfigInner {
    gateway: Gateway,
    /// Empty if the process started without a file and no change has been saved.
    file: OnceLock<PathBuf>,
    /// Notifies tasks that wait for the file to exist.
    file_created: Notify,
    environment: Environment,
    prepare: Box<dyn Fn(&mut Settings) + Send + Sync>,
    /// True if other machines can reach the gateway.
    needs_tokens: AtomicBool,
    follow_admin: OnceLock<FollowAdmin>,
    follow_file: OnceLock<FollowFile>,
    state: Arc<Mutex<ConfigState>>,
    status: parking_lot::Mutex<VisibleStatus>,
    added: AddedServers,
}

/// The configuration in force.
struct ConfigState {
    /// The last usable text of the file.
    text: String,
    overlay: Overlay,
    settings: Settings,
    /// The settings that cannot change at run time: those of the file, and those in force since the
    /// start.
    fixed: FixedSettings,
    fixed_at_start: FixedSettings,
    /// The warnings that have been logged.
    config_warnings: Vec<ConfigWarning>,
}

/// The status that readers may see while a change is made.
struct VisibleStatus {
    shown: ConfigurationStatus,
    preset_folder: Option<PathBuf>,
}

/// A callback for changed admin settings.
type FollowAdmin = Box<dyn Fn(&AdminChecked) + Send + Sync>;

/// A callback for the path of a newly created configuration file.
type FollowFile = Box<dyn Fn(&Path) + Send + Sync>;

#[derive(Clone, PartialEq)]
struct FixedSettings {
    listen: SocketAddr,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    admin: AdminChecked,
}

impl LiveConfig {
    /// Creates the live configuration of a gateway started with `config`. `prepare` applies the settings of
    /// the command line to each new configuration.
    pub(crate) fn new(
        gateway: Gateway,
        config: Config,
        environment: Environment,
        prepare: impl Fn(&mut Settings) + Send + Sync + 'static,
    ) -> Arc<LiveConfig> {
        let fixed = FixedSettings::of(&config.checked);
        let config_warnings = warnings_of(&config);
        let shown = ConfigurationStatus {
            file: config.file.clone(),
            watched: false,
            applied_at: Timestamp::from(SystemTime::now()).rfc3339(),
            problems: Vec::new(),
            unsaved: Vec::new(),
            left_out: left_out_of(&config.checked),
        };
        let preset_folder = config.checked.preset_folder;
        let mut settings = config.checked.gateway;
        prepare(&mut settings);
        let file = config.file.map_or_else(OnceLock::new, OnceLock::from);
        let state = ConfigState {
            text: config.text,
            overlay: Overlay::default(),
            settings,
            fixed_at_start: fixed.clone(),
            fixed,
            config_warnings,
        };
        Arc::new(LiveConfig(Arc::new(LiveConfigInner {
            gateway,
            file,
            file_created: Notify::new(),
            environment,
            prepare: Box::new(prepare),
            needs_tokens: AtomicBool::new(false),
            follow_admin: OnceLock::new(),
            follow_file: OnceLock::new(),
            state: Arc::new(Mutex::new(state)),
            status: parking_lot::Mutex::new(VisibleStatus {
                shown,
                preset_folder,
            }),
            added: AddedServers::default(),
        })))
    }

    /// Returns the configuration file and its folder of presets.
    pub(crate) fn files(&self) -> (Option<PathBuf>, Option<PathBuf>) {
        let status = self.0.status.lock();
        (self.0.file.get().cloned(), status.preset_folder.clone())
    }

    /// Waits until a configuration file exists.
    pub(crate) async fn has_file(&self) {
        let created = self.0.file_created.notified();
        let mut created = std::pin::pin!(created);
        // Registered before the test, so that a file created in between is not missed.
        created.as_mut().enable();
        if self.0.file.get().is_none() {
            created.await;
        }
    }

    /// Sets the callback for the creation of a configuration file.
    pub(crate) fn follow_file(&self, follow: impl Fn(&Path) + Send + Sync + 'static) {
        let _ = self.0.follow_file.set(Box::new(follow));
    }

    /// Sets the callback for changes to the admin settings.
    pub(crate) fn follow_admin(&self, follow: impl Fn(&AdminChecked) + Send + Sync + 'static) {
        let _ = self.0.follow_admin.set(Box::new(follow));
    }

    /// Requires at least one client token in every configuration from now on, because other
    /// machines can reach the gateway.
    pub(crate) fn need_tokens(&self) {
        self.0.needs_tokens.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_watched(&self, watched: bool) {
        self.0.status.lock().shown.watched = watched;
    }

    /// Reads the file again and applies the differences.
    pub(crate) async fn reload(&self, reporting: ErrorReporting) -> Reloaded {
        let done = self
            .work(move |inner, state| inner.reload(state, reporting))
            .await;
        done.unwrap_or(Reloaded::Refused)
    }

    /// Runs `work` exclusively on a thread that may block on disks.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LiveConfigInner, &mut ConfigState) -> T + Send + 'static,
    ) -> Option<T> {
        let inner = self.0.clone();
        // A separate task, because the caller may be cancelled at any time.
        let task = tokio::spawn(async move {
            let mut state = inner.state.clone().lock_owned().await;
            let work = tokio::task::spawn_blocking(move || work(&inner, &mut state));
            work.await.ok()
        });
        task.await.ok().flatten()
    }
}

impl Operations for LiveConfig {
    fn change(&self, change: Change, keep: Keep) -> BoxFuture<'_, Result<Changed, Rejected>> {
        Box::pin(async move {
            let change = self.0.added.as_replacement(change, &self.0.gateway);
            let made = change.clone();
            let done = self.work(move |inner, state| match keep {
                Keep::Memory => inner.keep_in_memory(state, change),
                Keep::File => inner.keep_in_file(state, change),
            });
            let ended = || {
                Err(Rejected::Invalid(vec![
                    "the gateway is shutting down".to_owned(),
                ]))
            };
            let done = done.await.unwrap_or_else(ended);
            if done.is_ok() {
                self.0.added.note(&made);
            }
            done
        })
    }

    fn status(&self) -> ConfigurationStatus {
        self.0.status.lock().shown.clone()
    }
}

/// The maximum number of attempts if other programs save the file meanwhile.
const ATTEMPTS: usize = 5;

impl LiveConfigInner {
    fn reload(&self, state: &mut ConfigState, reporting: ErrorReporting) -> Reloaded {
        let Some(file) = self.file.get() else {
            return Reloaded::Same;
        };
        let text = match disk::read(file) {
            Ok(text) => text,
            Err(line) => return self.refuse(vec![line], reporting),
        };
        let (config, overlay, dropped) = match self.check_dropping(&text, &state.overlay) {
            Ok(checked) => checked,
            Err(problems) => return self.refuse(errors(&problems), reporting),
        };
        for line in &dropped {
            tracing::warn!("an unsaved change cannot be applied to the new configuration: {line}");
        }
        state.overlay = overlay;
        let was_refused = !self.status.lock().shown.problems.is_empty();
        let is_same_text = state.text == text;
        state.text = text;
        let applied = self.apply(state, config, None);
        self.status.lock().shown.problems.clear();
        if was_refused && is_same_text {
            tracing::info!("the configuration file matches the active configuration again");
        }
        match applied.applied.is_empty() && applied.left_out.is_empty() {
            true => Reloaded::Same,
            false => Reloaded::Applied,
        }
    }

    /// Keeps the configuration in force, and reports the problems unless they have been reported.
    fn refuse(&self, problems: Vec<String>, reporting: ErrorReporting) -> Reloaded {
        let is_new = self.status.lock().shown.problems != problems;
        if reporting == ErrorReporting::Now && is_new {
            for problem in &problems {
                tracing::warn!("configuration reload rejected, keeping the current one: {problem}");
            }
            self.gateway.publish_rejected_settings(&problems);
            self.status.lock().shown.problems = problems;
        }
        Reloaded::Refused
    }

    fn keep_in_memory(&self, state: &mut ConfigState, change: Change) -> Result<Changed, Rejected> {
        known_endpoint(state, &change)?;
        let presets = self.preset_folder();
        let is_file = |id: &str| self.preset_file(id).is_some();
        let layered = self.layered(&state.text, &state.overlay, presets.as_deref())?;
        match (edit(&layered.text, &change), &change) {
            (Err(EditError::Unknown { .. }), Change::RemovePreset { id })
                if is_file(id) && !layered.hidden.contains(id) => {}
            (edited, _) => drop(edited.map_err(rejected)?),
        }
        let is_in_file = match &change {
            Change::RemovePreset { id } => has_preset(&state.text, id) || is_file(id),
            _ => true,
        };
        let server = server_of(&change).map(str::to_owned);
        let overlay = state.overlay.with(change, is_in_file);
        if overlay.len() > overlay::MOST {
            let message = format!("there are {} unsaved changes already", overlay::MOST);
            return Err(Rejected::Invalid(vec![message]));
        }
        let config = self.check(&state.text, &overlay).map_err(invalid)?;
        is_startable(&config, overlay.changes().last())?;
        state.overlay = overlay;
        Ok(self.apply(state, config, server.as_deref()))
    }

    fn keep_in_file(&self, state: &mut ConfigState, change: Change) -> Result<Changed, Rejected> {
        let Some(file) = self.file.get() else {
            return self.keep_in_new_file(state, &change);
        };
        known_endpoint(state, &change)?;
        let is_there = |line| Rejected::Invalid(vec![line]);
        for _ in 0..ATTEMPTS {
            let before = disk::read(file).map_err(is_there)?;
            if let Some(path) = self.own_file(&before, &change) {
                return self.keep_in_preset_file(state, before, &path, &change);
            }
            // Unsaved changes that no longer fit must not block this one.
            let fitting = self.check_dropping(&before, &state.overlay);
            let (_, fitting, dropped) =
                fitting.map_err(|found| Rejected::Invalid(errors(&found)))?;
            for line in &dropped {
                tracing::warn!("an unsaved change cannot be applied to the configuration: {line}");
            }
            let (text, overlay) = saved(&before, &fitting, &change)?;
            let config = self.check(&text, &overlay).map_err(invalid)?;
            is_startable(&config, Some(&change))?;
            if text != before {
                match disk::replace(file, &before, &text) {
                    Ok(()) => {}
                    Err(WriteError::Changed) => continue,
                    Err(WriteError::Failed(error)) => {
                        return Err(Rejected::Unwritable(error.to_string()));
                    }
                }
            }
            let written = text != before;
            let is_new = is_new_entry(&before, &text, &change);
            let changed = self.saved_to(file, state, text, overlay, config, &change);
            return Ok(Changed {
                written,
                entry_created: is_new,
                ..changed
            });
        }
        let message = "it keeps changing".to_owned();
        Err(Rejected::Unwritable(message))
    }

    /// Creates the user's configuration file with a change in it, and uses that file from then on.
    fn keep_in_new_file(
        &self,
        state: &mut ConfigState,
        change: &Change,
    ) -> Result<Changed, Rejected> {
        let file = users_file(&self.environment).ok_or(Rejected::NoFile)?;
        known_endpoint(state, change)?;
        let (text, overlay) = saved(&state.text, &state.overlay, change)?;
        let config = self.check_as(Some(&file), &text, &overlay);
        let config = config.map_err(invalid)?;
        is_startable(&config, Some(change))?;
        disk::create(&file, &text).map_err(|error| {
            let name = file.display();
            Rejected::Unwritable(match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!("{name} was created after the start; restart the gateway to use it")
                }
                _ => format!("{name}: {error}"),
            })
        })?;
        let file = self.file.get_or_init(|| file);
        self.status.lock().shown.file = Some(file.clone());
        self.file_created.notify_waiters();
        if let Some(follow) = self.follow_file.get() {
            follow(file);
        }
        let changed = self.saved_to(file, state, text, overlay, config, change);
        Ok(Changed {
            created: true,
            written: true,
            ..changed
        })
    }

    /// Does the same for a preset in its own file.
    fn keep_in_preset_file(
        &self,
        state: &mut ConfigState,
        text: String,
        path: &Path,
        change: &Change,
    ) -> Result<Changed, Rejected> {
        let overlay = state.overlay.without(change);
        // Checked before anything is written. An invalid preset file would only be skipped, and
        // clients and endpoints that name it would be allowed nothing.
        let tried: Overlay = overlay.changes().iter().chain([change]).cloned().collect();
        self.check(&text, &tried).map_err(invalid)?;
        let written = match change {
            Change::PutPreset { entry, .. } => {
                let before = disk::read(path).map_err(Rejected::Unwritable)?;
                let after = config::preset_file(&before, entry).map_err(rejected)?;
                match disk::replace(path, &before, &after) {
                    Ok(()) => Ok(()),
                    Err(WriteError::Failed(error)) => Err(error.to_string()),
                    Err(WriteError::Changed) => Err("it was changed in the meantime".to_owned()),
                }
            }
            _ => disk::remove(path).map_err(|error| error.to_string()),
        };
        written.map_err(Rejected::Unwritable)?;
        let config = self.check(&text, &overlay).map_err(invalid)?;
        let changed = self.saved_to(path, state, text, overlay, config, change);
        Ok(Changed {
            written: true,
            ..changed
        })
    }

    /// Applies the configuration after writing to `path`.
    fn saved_to(
        &self,
        path: &Path,
        state: &mut ConfigState,
        text: String,
        overlay: Overlay,
        config: Config,
        change: &Change,
    ) -> Changed {
        state.text = text;
        state.overlay = overlay;
        let changed = self.apply(state, config, server_of(change));
        self.status.lock().shown.problems.clear();
        Changed {
            saved_to: Some(path.to_owned()),
            ..changed
        }
    }

    /// Passes the differences to the gateway and logs new warnings. Returns the warnings that
    /// concern a change to `server`.
    fn apply(&self, state: &mut ConfigState, config: Config, server: Option<&str>) -> Changed {
        let config_warnings = warnings_of(&config);
        for new in config_warnings
            .iter()
            .filter(|config_warnings| !config_warnings.is_among(&state.config_warnings))
        {
            tracing::warn!("{}", new.line);
        }
        let concerning = config_warnings
            .iter()
            .filter(|one| one.concerns(server, &state.config_warnings));
        let warnings = concerning
            .map(|config_warnings| config_warnings.line.clone())
            .collect();
        let fixed = FixedSettings::of(&config.checked);
        let left_out = left_out_of(&config.checked);
        let preset_folder = config.checked.preset_folder;
        let mut settings = config.checked.gateway;
        (self.prepare)(&mut settings);
        let mut applied = match settings == state.settings {
            true => Applied::default(),
            false => self.gateway.apply(settings.clone()),
        };
        for key in fixed.differing(&state.fixed, &state.fixed_at_start) {
            if !applied.at_next_start.iter().any(|message| message == key) {
                applied.at_next_start.push(key.to_owned());
            }
        }
        if fixed.admin != state.fixed.admin {
            if let Some(follow) = self.follow_admin.get() {
                follow(&fixed.admin);
            }
            applied.settings.push("admin".to_owned());
        }
        let before = self.status.lock().shown.left_out.clone();
        let newly_left_out = correct_left_out(&mut applied, &before, &left_out, &settings);
        state.settings = settings;
        state.fixed = fixed;
        state.config_warnings = config_warnings;
        if !applied.is_empty() || !newly_left_out.is_empty() {
            let message = summary(&applied, &newly_left_out);
            tracing::info!("configuration applied: {message}");
        }
        let mut status = self.status.lock();
        status.preset_folder = preset_folder;
        status.shown.applied_at = Timestamp::from(SystemTime::now()).rfc3339();
        status.shown.unsaved = state.overlay.lines();
        status.shown.left_out = left_out;
        Changed {
            applied,
            left_out: newly_left_out,
            saved_to: None,
            created: false,
            written: false,
            entry_created: false,
            warnings,
        }
    }

    /// Checks the text with the unsaved changes. Drops the changes that no longer fit, and returns
    /// their descriptions.
    fn check_dropping(
        &self,
        text: &str,
        overlay: &Overlay,
    ) -> Result<(Config, Overlay, Vec<String>), Vec<Problem>> {
        let whole = self.check(text, overlay);
        if overlay.is_empty() {
            return match whole {
                Ok(config) => Ok((config, overlay.clone(), Vec::new())),
                Err(Unusable::Problems(problems)) => Err(problems),
                Err(Unusable::Change(_)) => unreachable!("there is no change"),
            };
        }
        if let Ok(config) = whole {
            return Ok((config, overlay.clone(), Vec::new()));
        }
        // Problems of the file itself take precedence over those of the changes.
        let none = Overlay::default();
        let (mut config, _, _) = self.check_dropping(text, &none)?;
        let (mut fits, mut dropped) = (none, Vec::new());
        for change in overlay.changes() {
            let tried: Overlay = fits.changes().iter().chain([change]).cloned().collect();
            match self.check(text, &tried) {
                Ok(checked) => (config, fits) = (checked, tried),
                Err(_) => dropped.push(overlay::line(change)),
            }
        }
        Ok((config, fits, dropped))
    }

    /// A configuration that is refused at the start must be refused as a saved file, too.
    fn check_tokens(&self, config: &Config) -> Result<(), Vec<Problem>> {
        let needed = self.needs_tokens.load(Ordering::Relaxed);
        let clients = &config.checked.gateway.clients;
        if !needed || clients.iter().any(|client| client.token.is_some()) {
            return Ok(());
        }
        let file = config.file.as_ref().map(|file| file.display().to_string());
        let what = "no client has a token, and other machines can reach the gateway".to_owned();
        let help =
            "keep a client with a token in `clients`, or restart on 127.0.0.1 or with --insecure";
        let file = file.unwrap_or_default();
        Err(vec![Problem::with_file(&file, what, Some(help.to_owned()))])
    }

    fn check(&self, text: &str, overlay: &Overlay) -> Result<Config, Unusable> {
        self.check_as(self.file.get().map(PathBuf::as_path), text, overlay)
    }

    /// Checks a text that is, or will be, in `file`.
    fn check_as(
        &self,
        file: Option<&Path>,
        text: &str,
        overlay: &Overlay,
    ) -> Result<Config, Unusable> {
        let check = |text: String| {
            let config = check_text(file, text, &self.environment)?;
            self.check_tokens(&config).map(|()| config)
        };
        if overlay.is_empty() {
            return check(text.to_owned()).map_err(Unusable::Problems);
        }
        let folder = check(text.to_owned()).ok();
        let folder = folder.and_then(|config| config.checked.preset_folder);
        let folder = folder.or_else(|| self.preset_folder());
        let layered = overlay.applied_to(text, folder.as_deref());
        let layered = layered.map_err(Unusable::Change)?;
        let mut config = check(layered.text.clone()).map_err(Unusable::Problems)?;
        layered.hide(&mut config).map_err(Unusable::Problems)?;
        Ok(config)
    }

    fn layered(
        &self,
        text: &str,
        overlay: &Overlay,
        presets: Option<&Path>,
    ) -> Result<LayeredText, Rejected> {
        overlay.applied_to(text, presets).map_err(rejected)
    }

    /// Returns the file of the preset that a change concerns, unless the text defines the preset.
    fn own_file(&self, text: &str, change: &Change) -> Option<PathBuf> {
        match change {
            Change::PutPreset { id, .. } | Change::RemovePreset { id } if !has_preset(text, id) => {
                self.preset_file(id)
            }
            _ => None,
        }
    }

    fn preset_file(&self, id: &str) -> Option<PathBuf> {
        disk::preset_path(&self.preset_folder()?, id)
    }

    fn preset_folder(&self) -> Option<PathBuf> {
        self.status.lock().preset_folder.clone()
    }
}

impl FixedSettings {
    fn of(checked: &CheckedConfig) -> FixedSettings {
        FixedSettings {
            listen: checked.listen,
            allowed_hosts: checked.allowed_hosts.clone(),
            allowed_origins: checked.allowed_origins.clone(),
            admin: checked.admin.clone(),
        }
    }

    /// Returns the keys whose new values differ from those in force.
    fn differing(&self, before: &FixedSettings, at_start: &FixedSettings) -> Vec<&'static str> {
        let is_new = |value: &dyn Fn(&FixedSettings) -> String| {
            value(self) != value(before) && value(self) != value(at_start)
        };
        let mut keys = Vec::new();
        if is_new(&|fixed| fixed.listen.to_string()) {
            keys.push("listen");
        }
        if is_new(&|fixed| fixed.allowed_hosts.join("\n")) {
            keys.push("allowed_hosts");
        }
        if is_new(&|fixed| fixed.allowed_origins.join("\n")) {
            keys.push("allowed_origins");
        }
        // Tokens take effect at run time; access to the metrics does not.
        let metrics =
            |fixed: &FixedSettings| (fixed.admin.open_metrics, fixed.admin.token.is_some());
        if metrics(self) != metrics(before) && metrics(self) != metrics(at_start) {
            keys.push("admin.open_metrics");
        }
        keys
    }
}

/// Returns the server that a change concerns.
fn server_of(change: &Change) -> Option<&str> {
    match change {
        Change::AddServer { id, .. }
        | Change::ReplaceServer { id, .. }
        | Change::RemoveServer { id }
        | Change::EnableServer { id, .. } => Some(id),
        Change::PutPreset { .. } | Change::RemovePreset { .. } | Change::SwitchPreset { .. } => {
            None
        }
    }
}

/// Rejects a change that adds a server which would be left out.
fn is_startable(config: &Config, change: Option<&Change>) -> Result<(), Rejected> {
    let (Some(Change::AddServer { id, .. }) | Some(Change::ReplaceServer { id, .. })) = change
    else {
        return Ok(());
    };
    let mut left_out = config.checked.left_out.iter();
    match left_out.find(|server| server.id == *id) {
        Some(server) => {
            let message = format!("server '{id}' cannot be started: {}", server.reason);
            Err(Rejected::Invalid(vec![message]))
        }
        None => Ok(()),
    }
}

fn known_endpoint(state: &ConfigState, change: &Change) -> Result<(), Rejected> {
    let Change::SwitchPreset { endpoint, .. } = change else {
        return Ok(());
    };
    let mut endpoints = state.settings.endpoints.iter();
    if endpoints.any(|known| known.name == *endpoint) {
        return Ok(());
    }
    Err(Rejected::Unknown {
        kind: "endpoint",
        name: endpoint.clone(),
    })
}
