//! Refusals of POST requests.

use http::Response;
use narrows_wire::Id;

use crate::error::Refused;
use crate::http::answer;
use crate::http::body::Body;

/// A refusal and the id of the request that it answers.
pub(in crate::http) struct PostRefusal {
    id: Option<Id>,
    why: Refused,
}

impl PostRefusal {
    pub(super) fn of(id: &Id, why: Refused) -> PostRefusal {
        let id = Some(id.clone());
        PostRefusal { id, why }
    }

    pub(in crate::http) fn into_answer(self) -> Response<Body> {
        tracing::debug!(why = ?self.why, "refused");
        answer::refused(self.id.as_ref(), &self.why)
    }
}

impl From<Refused> for PostRefusal {
    fn from(why: Refused) -> PostRefusal {
        PostRefusal { id: None, why }
    }
}
