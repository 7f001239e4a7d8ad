//! Vectors in the databases: of messages, of other texts, and the number up to which a conversation has them.

mod closest;
mod extension;
mod missing;
mod models;
mod pgvector;
mod save;
mod statements;
mod texts;

pub(crate) use extension::PgVector;
pub(crate) use missing::Unembedded;
pub(crate) use models::VectorModel;
pub(crate) use save::{MessageVector, NewVectors};

use super::Store;
use super::backend::{Backend, Row, Transaction};
use statements::{POSTGRES, SQLITE, VectorStatements};

impl Store {
    fn vector_statements(&self) -> &'static VectorStatements {
        match &self.pools {
            Backend::Sqlite(_) => &SQLITE,
            Backend::Postgres(_) => &POSTGRES,
        }
    }
}
