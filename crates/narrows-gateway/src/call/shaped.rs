//! The last step of a call: its result within the budget of the endpoint; and
//! the calls that give back what was cut.

use std::sync::Arc;

use narrows_wire::Raw;

use super::Call;
use crate::catalogue::{Target, View};
use crate::error::Error;
use crate::events::Tag;
use crate::recover;
use crate::recovery::{Owner, Store};
use crate::session::Session;
use crate::shaping::{Aim, Form, GOAL_ARGUMENT, Job, Policy, Shaping, Source};

/// What has to be remembered of a request until its result is there.
pub(super) struct Wish {
    policy: Policy,
    params: Option<Raw>,
    /// What the argument said that the endpoint adds to tools.
    goal: Option<Raw>,
}

impl Call<'_> {
    /// What is wanted of the result of a tool. Our own argument is taken out
    /// of the params: no server knows it.
    pub(super) fn wish_for_tool(&mut self, view: &View, target: &Target) -> Option<Wish> {
        let policy = target.policy?;
        let goal = match policy.goal_param && view.lacks_goal(target) {
            true => self.take_goal(),
            false => None,
        };
        Some(self.wish(policy, goal))
    }

    /// The same for a tool that is called through another.
    pub(super) fn wish_for_exec(&self, target: &Target, goal: Option<Raw>) -> Option<Wish> {
        Some(self.wish(target.policy?, goal))
    }

    pub(super) fn wish_for_resource(&self, target: &Target) -> Option<Wish> {
        Some(self.wish(target.policy?, None))
    }

    fn wish(&self, policy: Policy, goal: Option<Raw>) -> Wish {
        let params = self.params.clone();
        Wish {
            policy,
            params,
            goal,
        }
    }

    fn take_goal(&mut self) -> Option<Raw> {
        let params = self.params.as_ref()?;
        let arguments = params.member("arguments")?;
        let goal = arguments.member(GOAL_ARGUMENT)?;
        let others = arguments.without_member(GOAL_ARGUMENT);
        self.params = Some(params.with_member("arguments", &others));
        Some(goal)
    }

    /// The gateway's own tool.
    pub(super) async fn recover(self, arguments: Option<Raw>) -> Result<Raw, Error> {
        self.with_store(move |store, owner, max_chars| {
            Ok(recover::call(store, owner, max_chars, arguments))
        })
        .await
    }

    /// The gateway's own resources.
    pub(super) async fn read_receipt(self, uri: String) -> Result<Raw, Error> {
        self.with_store(move |store, owner, max_chars| recover::read(store, owner, max_chars, &uri))
            .await
    }

    /// The store may have to read from a disk, and a text may be long.
    async fn with_store(
        self,
        read: impl FnOnce(&dyn Store, &Owner, usize) -> Result<Raw, Error> + Send + 'static,
    ) -> Result<Raw, Error> {
        let endpoint = self.session.endpoint();
        let store = endpoint.shaping().store().clone();
        let max_chars = self.session.face().plan().policies.own_max_chars();
        let owner = self.session.owner();
        let turn = endpoint.shaping().turn().await;
        let turn = turn.ok_or(Error::Internal("Too many long texts are being worked on"))?;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            read(&*store, &owner, max_chars)
        });
        work.await
            .unwrap_or(Err(Error::Internal("The text could not be read")))
    }
}

impl Wish {
    /// Whether places in the params have to be looked up again.
    pub(super) fn changed_params(&self) -> bool {
        self.goal.is_some()
    }

    /// The characters of text that the result may have.
    pub(super) fn room(&self) -> usize {
        self.policy.max_chars
    }

    /// The result within its budget. Small ones are not even looked at.
    pub(super) async fn grant(
        self,
        session: &Arc<Session>,
        tag: Tag,
        target: &Target,
        form: impl FnOnce(&View) -> Form,
        result: Raw,
    ) -> Raw {
        if !Shaping::may_exceed(&result, &self.policy) {
            return result;
        }
        let view = session.view();
        let Some(recover) = view.recover().map(|recover| recover.way.clone()) else {
            return result;
        };
        let form = form(&view);
        drop(view);
        let name = target.name.as_text().unwrap_or_default();
        let source = Source {
            server: &target.upstream.settings.id,
            tool: match form {
                Form::Tool { .. } => &name,
                // There are more resources than anybody can count.
                Form::Resource => "resources/read",
            },
        };
        let job = Job {
            result,
            form,
            policy: self.policy,
            aim: Aim::of(self.params.as_ref(), self.goal.as_ref()),
            owner: session.owner(),
            recover,
        };
        let shaping = session.endpoint().shaping();
        Box::pin(shaping.shape(tag, source, job)).await
    }
}
