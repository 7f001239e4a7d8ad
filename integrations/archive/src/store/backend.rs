//! Statements in either database: one text with `$1`, its arguments, and the rows it gives.

use std::ops::DerefMut;

use futures::TryStreamExt as _;
use serde::Serialize;
use sqlx::encode::Encode;
use sqlx::error::BoxDynError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgHasArrayType, PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Decode, Row as _, Type};

use crate::error::{ArchiveError, Result};

/// The operation that a row fails in.
pub(super) const READ: &str = "read a message";

pub(super) type Sql = &'static str;
type SqliteQuery = sqlx::query::Query<'static, Sqlite, SqliteArguments>;
type PgQuery = sqlx::query::Query<'static, Postgres, PgArguments>;

/// Something that each database has in a form of its own.
#[derive(Debug)]
pub(crate) enum Backend<S, P> {
    Sqlite(S),
    Postgres(P),
}

/// A connection for one operation, which is named in its errors.
pub(super) struct Session<S, P> {
    pub(super) operation: &'static str,
    pub(super) backend: Backend<S, P>,
}

pub(super) type Connection = Session<PoolConnection<Sqlite>, PoolConnection<Postgres>>;
pub(super) type Transaction =
    Session<sqlx::Transaction<'static, Sqlite>, sqlx::Transaction<'static, Postgres>>;
pub(crate) type Row = Backend<SqliteRow, PgRow>;

/// Adds the operation to an error of the database.
pub(super) trait DatabaseContext<T> {
    fn during(self, operation: &'static str) -> Result<T>;
}

impl<T> DatabaseContext<T> for Result<T, sqlx::Error> {
    fn during(self, operation: &'static str) -> Result<T> {
        self.map_err(|error| ArchiveError::database(operation, &error))
    }
}

/// An argument of a statement.
pub(super) trait Argument<'a>: Sync {
    fn add_to_sqlite(&self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError>;
    fn add_to_postgres(&self, arguments: &mut PgArguments) -> Result<(), BoxDynError>;
}

/// Arguments of a statement, the first of which is its `$1`.
pub(super) type Arguments<'a> = &'a [&'a (dyn Argument<'a> + 'a)];

impl<'a, T> Argument<'a> for T
where
    T: Encode<'a, Sqlite> + Type<Sqlite> + Encode<'a, Postgres> + Type<Postgres> + Sync,
{
    fn add_to_sqlite(&self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError> {
        sqlx::Arguments::add(arguments, self)
    }

    fn add_to_postgres(&self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        sqlx::Arguments::add(arguments, self)
    }
}

/// A list as an argument: an array in PostgreSQL, and in SQLite the JSON of one.
pub(super) struct List<T>(pub(super) Vec<T>);

impl<'a, T> Argument<'a> for List<T>
where
    T: Serialize + Encode<'a, Postgres> + Type<Postgres> + PgHasArrayType + Sync,
{
    fn add_to_sqlite(&self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError> {
        sqlx::Arguments::add(arguments, serde_json::to_string(&self.0)?)
    }

    fn add_to_postgres(&self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        sqlx::Arguments::add(arguments, self.0.as_slice())
    }
}

fn sqlite_query(sql: Sql, arguments: Arguments<'_>) -> Result<SqliteQuery, sqlx::Error> {
    let mut all = SqliteArguments::default();
    arguments.iter().try_for_each(|it| it.add_to_sqlite(&mut all)).map_err(sqlx::Error::Encode)?;
    Ok(sqlx::query_with(sql, all))
}

fn postgres_query(sql: Sql, arguments: Arguments<'_>) -> Result<PgQuery, sqlx::Error> {
    let mut all = PgArguments::default();
    arguments
        .iter()
        .try_for_each(|it| it.add_to_postgres(&mut all))
        .map_err(sqlx::Error::Encode)?;
    Ok(sqlx::query_with(sql, all))
}

impl<S, P> Session<S, P>
where
    S: DerefMut<Target = SqliteConnection>,
    P: DerefMut<Target = PgConnection>,
{
    pub(super) fn is_sqlite(&self) -> bool {
        matches!(self.backend, Backend::Sqlite(_))
    }

    /// Runs a statement that gives no rows; returns how many it changed.
    pub(super) async fn run(&mut self, sql: Sql, arguments: Arguments<'_>) -> Result<u64> {
        match &mut self.backend {
            Backend::Sqlite(connection) => {
                let query = sqlite_query(sql, arguments).during(self.operation)?;
                query.execute(&mut **connection).await.map(|done| done.rows_affected())
            }
            Backend::Postgres(connection) => {
                let query = postgres_query(sql, arguments).during(self.operation)?;
                query.execute(&mut **connection).await.map(|done| done.rows_affected())
            }
        }
        .during(self.operation)
    }

    /// The rows that a statement gives.
    pub(super) async fn rows(&mut self, sql: Sql, arguments: Arguments<'_>) -> Result<Vec<Row>> {
        Ok(match &mut self.backend {
            Backend::Sqlite(connection) => {
                let query = sqlite_query(sql, arguments).during(self.operation)?;
                let rows = query.fetch_all(&mut **connection).await.during(self.operation)?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Backend::Postgres(connection) => {
                let query = postgres_query(sql, arguments).during(self.operation)?;
                let rows = query.fetch_all(&mut **connection).await.during(self.operation)?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// Hands on the rows that a statement gives, one by one, without keeping them. Others get their turn
    /// now and then.
    pub(super) async fn each(
        &mut self,
        sql: Sql,
        arguments: Arguments<'_>,
        mut take: impl FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        const AT_ONCE: usize = 256;
        let mut count = 0_usize;
        match &mut self.backend {
            Backend::Sqlite(connection) => {
                let query = sqlite_query(sql, arguments).during(self.operation)?;
                let mut rows = query.fetch(&mut **connection);
                while let Some(row) = rows.try_next().await.during(self.operation)? {
                    take(&Row::Sqlite(row))?;
                    count += 1;
                    if count.is_multiple_of(AT_ONCE) {
                        tokio::task::yield_now().await;
                    }
                }
            }
            Backend::Postgres(connection) => {
                let query = postgres_query(sql, arguments).during(self.operation)?;
                let mut rows = query.fetch(&mut **connection);
                while let Some(row) = rows.try_next().await.during(self.operation)? {
                    take(&Row::Postgres(row))?;
                    count += 1;
                    if count.is_multiple_of(AT_ONCE) {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
        Ok(())
    }

    /// The only row that a statement gives, if it gives one.
    pub(super) async fn row(&mut self, sql: Sql, arguments: Arguments<'_>) -> Result<Option<Row>> {
        Ok(self.rows(sql, arguments).await?.pop())
    }

    /// The only row of a statement that always gives one.
    pub(super) async fn one(&mut self, sql: Sql, arguments: Arguments<'_>) -> Result<Row> {
        self.row(sql, arguments).await?.ok_or(sqlx::Error::RowNotFound).during(self.operation)
    }
}

impl Transaction {
    pub(super) async fn commit(self) -> Result<()> {
        match self.backend {
            Backend::Sqlite(transaction) => transaction.commit().await,
            Backend::Postgres(transaction) => transaction.commit().await,
        }
        .during(self.operation)
    }
}

impl Row {
    /// A column's value.
    pub(super) fn get<'r, T>(&'r self, column: usize) -> Result<T>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
    {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .during(READ)
    }
}
