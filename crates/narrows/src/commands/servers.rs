//! `narrows servers`: the servers of a running gateway.

mod added;
mod described;

use std::io;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::change::ChangeResult;
use super::{Exit, shell_word};
use crate::admin_client::{AdminClient, AdminClientError, Resource, report_outcome};
use crate::cli::operator::{
    AddServer, ChangeServer, GatewayOptions, OneServer, RestartServer, ServersAction,
    ServersCommand, StartServer,
};
use crate::config::Environment;
use crate::terminal::{Palette, Status, answer, eprint_line, plain};

use self::added::{entry_of, set_folder};
use self::described::{ServerList, ServerRow};

pub(crate) async fn run(
    options: ServersCommand,
    environment: &Environment,
) -> anyhow::Result<Exit> {
    let action = options
        .action
        .unwrap_or(ServersAction::List(options.gateway_options));
    let result = match action {
        ServersAction::List(gateway_options) => list(&gateway_options, environment).await,
        ServersAction::Show(options) => show(&options, environment).await,
        ServersAction::Add(options) => add(&options, environment).await,
        ServersAction::Remove(options) => {
            let path = Resource::at(&["servers", &options.id]);
            let done = "removed ID from the file; the gateway had already removed it";
            change(Method::DELETE, path, done, &options, environment).await
        }
        ServersAction::Disable(options) => {
            let path = Resource::at(&["servers", &options.id, "disable"]);
            let done = "disabled ID in the file; the gateway had already disabled it";
            change(Method::POST, path, done, &options, environment).await
        }
        ServersAction::Enable(options) => enable(&options, environment).await,
        ServersAction::Restart(options) => restart(&options, environment).await,
    };
    Ok(report_outcome(result))
}

async fn list(
    gateway_options: &GatewayOptions,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(gateway_options, environment)?;
    let value = client.get(Resource::at(&["servers"])).await?;
    let list: ServerList = client.understood(&value)?;
    let text = match gateway_options.json {
        true => format!("{value:#}\n"),
        false => list.for_people(palette(environment)),
    };
    answer(&text)?;
    Ok(Exit::Done)
}

async fn show(options: &OneServer, environment: &Environment) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let value = client.get(Resource::at(&["servers", &options.id])).await?;
    let server: ServerRow = client.understood(&value)?;
    let text = match options.gateway_options.json {
        true => format!("{value:#}\n"),
        false => server.with_tools(palette(environment)),
    };
    answer(&text)?;
    Ok(Exit::Done)
}

async fn add(options: &AddServer, environment: &Environment) -> Result<Exit, AdminClientError> {
    let mut entry = entry_of(options)?;
    let (url, id) = (options.gateway.as_deref(), &options.id);
    let client = AdminClient::at(url, &options.connect_options, environment)?;
    set_folder(&mut entry, options, client.is_local())?;
    let save = options.save_options.save;
    let sent = match options.replace {
        true => {
            let path = Resource::at(&["servers", id]).with("save", flag(save));
            let body = json!({ "config": entry });
            client.send(Method::PUT, path, Some(&body)).await
        }
        false => {
            let path = Resource::at(&["servers"]).with("save", flag(save));
            let body = json!({ "id": id, "config": entry });
            client.send(Method::POST, path, Some(&body)).await
        }
    };
    let wait = Wait {
        id,
        seconds: options.wait_options.wait,
        // A server added as disabled is in its final state.
        until_enabled: false,
        // Also without --replace: the gateway replaces a server that was added at run time and
        // never came up.
        is_entry: true,
        json: options.answer_json,
    };
    print_change_and_wait(&client, sent?, save, wait, environment).await
}

async fn enable(
    options: &StartServer,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let save = options.save_options.save;
    let path = Resource::at(&["servers", &options.id, "enable"]).with("save", flag(save));
    let value = client.send(Method::POST, path, None).await?;
    let wait = Wait {
        id: &options.id,
        seconds: options.wait_options.wait,
        until_enabled: true,
        is_entry: false,
        json: options.gateway_options.json,
    };
    print_change_and_wait(&client, value, save, wait, environment).await
}

async fn restart(
    options: &RestartServer,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let path = Resource::at(&["servers", &options.id, "restart"]);
    let value = client.send(Method::POST, path, None).await?;
    if !options.gateway_options.json {
        answer(&format!("restarted {}\n", plain(&options.id)))?;
    }
    let wait = Wait {
        id: &options.id,
        seconds: options.wait_options.wait,
        until_enabled: true,
        is_entry: false,
        json: options.gateway_options.json,
    };
    print_outcome(&client, value, wait, environment).await
}

/// Makes a change that needs no waiting.
async fn change(
    method: Method,
    path: Resource,
    done: &str,
    options: &ChangeServer,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let save = options.save_options.save;
    let path = path.with("save", flag(save));
    let value = client.send(method, path, None).await?;
    let mut change: ChangeResult = client.understood(&value)?;
    change.name_in_file(done, &options.id);
    change.tell_warnings();
    answer(&match options.gateway_options.json {
        true => format!("{value:#}\n"),
        false => change.for_people(save),
    })?;
    Ok(Exit::Done)
}

/// The server to wait for after a change.
struct Wait<'a> {
    id: &'a str,
    seconds: u64,
    /// True if a disabled server is about to be enabled, so that waiting continues.
    until_enabled: bool,
    /// True if the change is a whole entry, false if it only enables or restarts the server.
    is_entry: bool,
    json: bool,
}

/// Prints a change at once, and then the resulting state of the server.
async fn print_change_and_wait(
    client: &AdminClient,
    value: Value,
    save: bool,
    wait: Wait<'_>,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let mut change: ChangeResult = client.understood(&value)?;
    match wait.is_entry {
        true => change.name_replaced(wait.id),
        false => {
            let done = "enabled ID in the file; the gateway had already enabled it";
            change.name_in_file(done, wait.id);
        }
    }
    change.tell_warnings();
    if !wait.json {
        answer(&change.for_people(save))?;
    }
    print_outcome(client, value, wait, environment).await
}

async fn print_outcome(
    client: &AdminClient,
    mut value: Value,
    wait: Wait<'_>,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let server = match wait.seconds {
        0 => Ok(None),
        _ => settled(client, &wait).await.map(Some),
    };
    if wait.json {
        // The change is printed even if the state of the server is no longer available.
        if let (Some(members), Ok(Some(server))) = (value.as_object_mut(), &server) {
            members.insert("server".to_owned(), server.clone());
        }
        answer(&format!("{value:#}\n"))?;
    }
    let Some(server) = server? else {
        return Ok(Exit::Done);
    };
    let server: ServerRow = client.understood(&server)?;
    if !wait.json {
        answer(&server.line(palette(environment)))?;
    }
    if server.is_fine() {
        return Ok(Exit::Done);
    }
    let id = plain(wait.id);
    if server.is_left_out() {
        eprint_line(format_args!(
            "error: server '{id}' cannot be started as configured, and is left out until the \
             configuration is corrected"
        ));
        return Ok(Exit::Failed);
    }
    if server.is_given_up() {
        eprint_line(format_args!(
            "error: server '{id}' did not come up, and is not retried until its entry changes"
        ));
        let id = shell_word(wait.id);
        eprint_line(format_args!(
            "  help: `narrows servers remove {id}` removes it"
        ));
        return Ok(Exit::Failed);
    }
    match server.is_starting() {
        true => {
            let seconds = wait.seconds;
            eprint_line(format_args!(
                "error: server '{id}' is not up after {seconds} s; it is still starting"
            ));
        }
        false => eprint_line(format_args!(
            "error: server '{id}' did not come up; the gateway keeps trying"
        )),
    }
    let id = shell_word(wait.id);
    eprint_line(format_args!(
        "  help: `narrows servers show {id}` shows its state"
    ));
    Ok(Exit::Failed)
}

/// Returns the server once it is up or has failed, or when the time is over.
async fn settled(client: &AdminClient, wait: &Wait<'_>) -> Result<Value, AdminClientError> {
    let deadline = Instant::now() + Duration::from_secs(wait.seconds);
    let mut pause = Duration::from_millis(50);
    let mut status = Status::new();
    loop {
        let value = client.get(Resource::at(&["servers", wait.id])).await?;
        let server: ServerRow = client.understood(&value)?;
        let is_over = Instant::now() + pause > deadline;
        if is_over || !(server.is_starting() || wait.until_enabled && server.is_disabled()) {
            return Ok(value);
        }
        status.show(&format!("waiting for server {}", wait.id));
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

/// Formats a flag for a query.
pub(super) fn flag(is_set: bool) -> &'static str {
    if is_set { "true" } else { "false" }
}

fn palette(environment: &Environment) -> Palette {
    Palette::of(&io::stdout(), environment.no_color())
}
