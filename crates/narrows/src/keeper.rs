//! Who changes the configuration while the gateway runs, and the only one who
//! does: a file that was saved, and an operator's changes, take the same way.
//!
//! The text of the file, and over it the changes that nobody saved, are
//! checked together. If nothing is wrong the gateway takes up what differs;
//! otherwise everything stays as it was. Changes come one after the other, and
//! one that has begun is finished even if nobody waits for it any more.

mod added;
mod disk;
mod left_out;
mod overlay;
mod saved;
#[cfg(test)]
mod tests;
mod told;

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
    self, AdminChecked, Checked, Config, EditError, Environment, Problem, check_text, edit,
    has_preset, users_file,
};
use added::AddedServers;
use disk::Unwritten;
use left_out::{left_out_of, told_by_left_out};
use overlay::{Layered, Overlay};
use saved::{is_new_entry, saved};
use told::{Said, Unfit, errors, invalid, rejected, said_of, summary};

/// The one who keeps the configuration.
pub(crate) struct Keeper(Arc<Inner>);

/// What became of a file that was read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reloaded {
    /// It says what it said before.
    Same,
    Applied,
    /// It cannot be used. What was in force still is.
    Refused,
}

/// Whether a file that cannot be used is worth a word yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tell {
    Now,
    /// It may be in the middle of being written.
    NotYet,
}

struct Inner {
    gateway: Gateway,
    /// Empty until a change is saved, where the program began without a file.
    file: OnceLock<PathBuf>,
    /// Wakes whoever waits for the file.
    file_created: Notify,
    environment: Environment,
    prepare: Box<dyn Fn(&mut Settings) + Send + Sync>,
    /// Whether other machines reach the gateway.
    needs_tokens: AtomicBool,
    follow_admin: OnceLock<FollowAdmin>,
    follow_file: OnceLock<FollowFile>,
    state: Arc<Mutex<State>>,
    status: parking_lot::Mutex<Status>,
    added: AddedServers,
}

/// What is in force.
struct State {
    /// The last text of the file that could be used.
    text: String,
    overlay: Overlay,
    settings: Settings,
    /// What the file says and what counts since the start, of what cannot
    /// change while the program runs.
    fixed: Fixed,
    fixed_at_start: Fixed,
    /// What has been said about the configuration.
    said: Vec<Said>,
}

/// What others may look at while a change is being made.
struct Status {
    shown: ConfigurationStatus,
    preset_folder: Option<PathBuf>,
}

/// Hears what is said of operators.
type FollowAdmin = Box<dyn Fn(&AdminChecked) + Send + Sync>;

/// Hears where the configuration file was created.
type FollowFile = Box<dyn Fn(&Path) + Send + Sync>;

#[derive(Clone, PartialEq)]
struct Fixed {
    listen: SocketAddr,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    admin: AdminChecked,
}

impl Keeper {
    /// Keeps what `config` says for a gateway that was started with it.
    /// `prepare` says over new settings what the command line said over these.
    pub(crate) fn new(
        gateway: Gateway,
        config: Config,
        environment: Environment,
        prepare: impl Fn(&mut Settings) + Send + Sync + 'static,
    ) -> Arc<Keeper> {
        let fixed = Fixed::of(&config.checked);
        let said = said_of(&config);
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
        let state = State {
            text: config.text,
            overlay: Overlay::default(),
            settings,
            fixed_at_start: fixed.clone(),
            fixed,
            said,
        };
        Arc::new(Keeper(Arc::new(Inner {
            gateway,
            file,
            file_created: Notify::new(),
            environment,
            prepare: Box::new(prepare),
            needs_tokens: AtomicBool::new(false),
            follow_admin: OnceLock::new(),
            follow_file: OnceLock::new(),
            state: Arc::new(Mutex::new(state)),
            status: parking_lot::Mutex::new(Status {
                shown,
                preset_folder,
            }),
            added: AddedServers::default(),
        })))
    }

    /// The file, and the folder of presets that it names.
    pub(crate) fn files(&self) -> (Option<PathBuf>, Option<PathBuf>) {
        let status = self.0.status.lock();
        (self.0.file.get().cloned(), status.preset_folder.clone())
    }

    /// Waits until there is a configuration file.
    pub(crate) async fn has_file(&self) {
        let created = self.0.file_created.notified();
        let mut created = std::pin::pin!(created);
        // Before the look, so that no file is created in between.
        created.as_mut().enable();
        if self.0.file.get().is_none() {
            created.await;
        }
    }

    /// Has `follow` hear where the configuration file is created, if it is.
    pub(crate) fn follow_file(&self, follow: impl Fn(&Path) + Send + Sync + 'static) {
        let _ = self.0.follow_file.set(Box::new(follow));
    }

    /// Has `follow` hear what is said of operators whenever that changes.
    pub(crate) fn follow_admin(&self, follow: impl Fn(&AdminChecked) + Send + Sync + 'static) {
        let _ = self.0.follow_admin.set(Box::new(follow));
    }

    /// Says that other machines reach the gateway, so that what is configured
    /// must not be without tokens from now on.
    pub(crate) fn need_tokens(&self) {
        self.0.needs_tokens.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_watched(&self, watched: bool) {
        self.0.status.lock().shown.watched = watched;
    }

    /// Reads the file again and takes up what is new in it.
    pub(crate) async fn reload(&self, tell: Tell) -> Reloaded {
        let done = self
            .work(move |inner, state| inner.reload(state, tell))
            .await;
        done.unwrap_or(Reloaded::Refused)
    }

    /// Does `work` when nobody else does any, where it may wait for disks.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner, &mut State) -> T + Send + 'static,
    ) -> Option<T> {
        let inner = self.0.clone();
        // A task of its own, since whoever asked may leave at any moment.
        let task = tokio::spawn(async move {
            let mut state = inner.state.clone().lock_owned().await;
            let work = tokio::task::spawn_blocking(move || work(&inner, &mut state));
            work.await.ok()
        });
        task.await.ok().flatten()
    }
}

impl Operations for Keeper {
    fn change(&self, change: Change, keep: Keep) -> BoxFuture<'_, Result<Changed, Rejected>> {
        Box::pin(async move {
            let change = self.0.added.as_replacement(change, &self.0.gateway);
            let made = change.clone();
            let done = self.work(move |inner, state| match keep {
                Keep::Memory => inner.keep_in_memory(state, change),
                Keep::File => inner.keep_in_file(state, change),
            });
            let ended = || Err(Rejected::Invalid(vec!["the program is ending".to_owned()]));
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

/// How often a change is made anew because somebody saved the file meanwhile.
const ATTEMPTS: usize = 5;

impl Inner {
    fn reload(&self, state: &mut State, tell: Tell) -> Reloaded {
        let Some(file) = self.file.get() else {
            return Reloaded::Same;
        };
        let text = match disk::read(file) {
            Ok(text) => text,
            Err(line) => return self.refuse(vec![line], tell),
        };
        let (config, overlay, dropped) = match self.check_dropping(&text, &state.overlay) {
            Ok(checked) => checked,
            Err(problems) => return self.refuse(errors(&problems), tell),
        };
        for line in &dropped {
            tracing::warn!("an unsaved change does not fit the new configuration: {line}");
        }
        state.overlay = overlay;
        let was_refused = !self.status.lock().shown.problems.is_empty();
        let is_same_text = state.text == text;
        state.text = text;
        let applied = self.apply(state, config, None);
        self.status.lock().shown.problems.clear();
        if was_refused && is_same_text {
            tracing::info!("the configuration file says again what is in force");
        }
        match applied.applied.is_empty() && applied.left_out.is_empty() {
            true => Reloaded::Same,
            false => Reloaded::Applied,
        }
    }

    /// Everything stays as it is, which is said once.
    fn refuse(&self, problems: Vec<String>, tell: Tell) -> Reloaded {
        let is_news = self.status.lock().shown.problems != problems;
        if tell == Tell::Now && is_news {
            for problem in &problems {
                tracing::warn!("the configuration stays as it was: {problem}");
            }
            self.gateway.tell_refused(&problems);
            self.status.lock().shown.problems = problems;
        }
        Reloaded::Refused
    }

    fn keep_in_memory(&self, state: &mut State, change: Change) -> Result<Changed, Rejected> {
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
            let told = format!("there are {} unsaved changes already", overlay::MOST);
            return Err(Rejected::Invalid(vec![told]));
        }
        let config = self.check(&state.text, &overlay).map_err(invalid)?;
        is_startable(&config, overlay.changes().last())?;
        state.overlay = overlay;
        Ok(self.apply(state, config, server.as_deref()))
    }

    fn keep_in_file(&self, state: &mut State, change: Change) -> Result<Changed, Rejected> {
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
            // Unsaved changes that fit no more must not be in the way of this one.
            let fitting = self.check_dropping(&before, &state.overlay);
            let (_, fitting, dropped) =
                fitting.map_err(|found| Rejected::Invalid(errors(&found)))?;
            for line in &dropped {
                tracing::warn!("an unsaved change does not fit the configuration: {line}");
            }
            let (text, overlay) = saved(&before, &fitting, &change)?;
            let config = self.check(&text, &overlay).map_err(invalid)?;
            is_startable(&config, Some(&change))?;
            if text != before {
                match disk::replace(file, &before, &text) {
                    Ok(()) => {}
                    Err(Unwritten::Changed) => continue,
                    Err(Unwritten::Failed(error)) => {
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
        let told = "it changes all the time".to_owned();
        Err(Rejected::Unwritable(told))
    }

    /// Creates the configuration file of the user with a change in it. From
    /// then on it is the file of this program.
    fn keep_in_new_file(&self, state: &mut State, change: &Change) -> Result<Changed, Rejected> {
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

    /// The same for a preset that lives in a file of its own.
    fn keep_in_preset_file(
        &self,
        state: &mut State,
        text: String,
        path: &Path,
        change: &Change,
    ) -> Result<Changed, Rejected> {
        let overlay = state.overlay.without(change);
        // Tried out before anything is written: a file that cannot be used
        // would only be skipped, and whoever names it be allowed nothing.
        let tried: Overlay = overlay.changes().iter().chain([change]).cloned().collect();
        self.check(&text, &tried).map_err(invalid)?;
        let written = match change {
            Change::PutPreset { entry, .. } => {
                let before = disk::read(path).map_err(Rejected::Unwritable)?;
                let after = config::preset_file(&before, entry).map_err(rejected)?;
                match disk::replace(path, &before, &after) {
                    Ok(()) => Ok(()),
                    Err(Unwritten::Failed(error)) => Err(error.to_string()),
                    Err(Unwritten::Changed) => Err("it was just changed".to_owned()),
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

    /// Takes up what was written to `path`.
    fn saved_to(
        &self,
        path: &Path,
        state: &mut State,
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

    /// Hands the gateway what is new, and logs new warnings. Returns those
    /// that concern a change of `server`.
    fn apply(&self, state: &mut State, config: Config, server: Option<&str>) -> Changed {
        let said = said_of(&config);
        for new in said.iter().filter(|said| !said.is_among(&state.said)) {
            tracing::warn!("{}", new.line);
        }
        let concerning = said.iter().filter(|one| one.concerns(server, &state.said));
        let warnings = concerning.map(|said| said.line.clone()).collect();
        let fixed = Fixed::of(&config.checked);
        let left_out = left_out_of(&config.checked);
        let preset_folder = config.checked.preset_folder;
        let mut settings = config.checked.gateway;
        (self.prepare)(&mut settings);
        let mut applied = match settings == state.settings {
            true => Applied::default(),
            false => self.gateway.apply(settings.clone()),
        };
        for key in fixed.differing(&state.fixed, &state.fixed_at_start) {
            if !applied.at_next_start.iter().any(|told| told == key) {
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
        let newly_left_out = told_by_left_out(&mut applied, &before, &left_out, &settings);
        state.settings = settings;
        state.fixed = fixed;
        state.said = said;
        if !applied.is_empty() || !newly_left_out.is_empty() {
            let told = summary(&applied, &newly_left_out);
            tracing::info!("the configuration was taken up: {told}");
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

    /// The text with the unsaved changes, checked. Those of them that do not
    /// fit any more are left out and told.
    fn check_dropping(
        &self,
        text: &str,
        overlay: &Overlay,
    ) -> Result<(Config, Overlay, Vec<String>), Vec<Problem>> {
        let whole = self.check(text, overlay);
        if overlay.is_empty() {
            return match whole {
                Ok(config) => Ok((config, overlay.clone(), Vec::new())),
                Err(Unfit::Problems(problems)) => Err(problems),
                Err(Unfit::Change(_)) => unreachable!("there is no change"),
            };
        }
        if let Ok(config) = whole {
            return Ok((config, overlay.clone(), Vec::new()));
        }
        // Whose fault is it? The file's own problems come first.
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

    /// What was refused at the start must not come in by a saved file.
    fn check_tokens(&self, config: &Config) -> Result<(), Vec<Problem>> {
        let needed = self.needs_tokens.load(Ordering::Relaxed);
        let clients = &config.checked.gateway.clients;
        if !needed || clients.iter().any(|client| client.token.is_some()) {
            return Ok(());
        }
        let file = config.file.as_ref().map(|file| file.display().to_string());
        let what = "no client has a token, and other machines can reach the gateway".to_owned();
        let help = "keep a client in `clients`, or start anew on 127.0.0.1 or with --insecure";
        let file = file.unwrap_or_default();
        Err(vec![Problem::with_file(&file, what, Some(help.to_owned()))])
    }

    fn check(&self, text: &str, overlay: &Overlay) -> Result<Config, Unfit> {
        self.check_as(self.file.get().map(PathBuf::as_path), text, overlay)
    }

    /// The same for a text that stands, or will stand, in `file`.
    fn check_as(
        &self,
        file: Option<&Path>,
        text: &str,
        overlay: &Overlay,
    ) -> Result<Config, Unfit> {
        let check = |text: String| {
            let config = check_text(file, text, &self.environment)?;
            self.check_tokens(&config).map(|()| config)
        };
        if overlay.is_empty() {
            return check(text.to_owned()).map_err(Unfit::Problems);
        }
        let folder = check(text.to_owned()).ok();
        let folder = folder.and_then(|config| config.checked.preset_folder);
        let folder = folder.or_else(|| self.preset_folder());
        let layered = overlay.laid_over(text, folder.as_deref());
        let layered = layered.map_err(Unfit::Change)?;
        let mut config = check(layered.text.clone()).map_err(Unfit::Problems)?;
        layered.hide(&mut config).map_err(Unfit::Problems)?;
        Ok(config)
    }

    fn layered(
        &self,
        text: &str,
        overlay: &Overlay,
        presets: Option<&Path>,
    ) -> Result<Layered, Rejected> {
        overlay.laid_over(text, presets).map_err(rejected)
    }

    /// The file of the preset that a change is about, unless the text has it.
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

impl Fixed {
    fn of(checked: &Checked) -> Fixed {
        Fixed {
            listen: checked.listen,
            allowed_hosts: checked.allowed_hosts.clone(),
            allowed_origins: checked.allowed_origins.clone(),
            admin: checked.admin.clone(),
        }
    }

    /// The keys that are new in the file and not in force.
    fn differing(&self, before: &Fixed, at_start: &Fixed) -> Vec<&'static str> {
        let is_news = |value: &dyn Fn(&Fixed) -> String| {
            value(self) != value(before) && value(self) != value(at_start)
        };
        let mut keys = Vec::new();
        if is_news(&|fixed| fixed.listen.to_string()) {
            keys.push("listen");
        }
        if is_news(&|fixed| fixed.allowed_hosts.join("\n")) {
            keys.push("allowed_hosts");
        }
        if is_news(&|fixed| fixed.allowed_origins.join("\n")) {
            keys.push("allowed_origins");
        }
        // Tokens are followed; who may read the metrics is not.
        let metrics = |fixed: &Fixed| (fixed.admin.open_metrics, fixed.admin.token.is_some());
        if metrics(self) != metrics(before) && metrics(self) != metrics(at_start) {
            keys.push("admin.open_metrics");
        }
        keys
    }
}

/// The server that a change is about.
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

/// A server that was just added, and that would be left out, is refused.
fn is_startable(config: &Config, change: Option<&Change>) -> Result<(), Rejected> {
    let (Some(Change::AddServer { id, .. }) | Some(Change::ReplaceServer { id, .. })) = change
    else {
        return Ok(());
    };
    let mut left_out = config.checked.left_out.iter();
    match left_out.find(|server| server.id == *id) {
        Some(server) => {
            let told = format!("server '{id}' cannot be started: {}", server.reason);
            Err(Rejected::Invalid(vec![told]))
        }
        None => Ok(()),
    }
}

fn known_endpoint(state: &State, change: &Change) -> Result<(), Rejected> {
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
