//! The stores under comparison, behind one trait.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use fjall::config::CompressionPolicy;
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode,
};
use redb::backends::FileBackend;
use redb::{BackendError, ReadableDatabase, StorageBackend, TableDefinition};

use crate::Result;

pub(crate) const KINDS: [&str; 3] = ["redb", "fjall", "files"];

/// The failure that an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Survives {
    /// The death of the process by any signal.
    Kill,
    /// The death of the process and the loss of power.
    PowerCut,
}

pub(crate) trait Contender {
    fn put(&self, key: &str, value: &[u8]) -> Result<()>;
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;
    fn delete(&self, key: &str) -> Result<()>;
    /// Frees the space of deleted texts, for stores that need a call to do so.
    fn compact(&mut self) -> Result<()>;
}

pub(crate) fn open(kind: &str, folder: &Path, survives: Survives) -> Result<Box<dyn Contender>> {
    Ok(match kind {
        "redb" => Box::new(Redb::open(folder, survives)?),
        "fjall" => Box::new(Fjall::open(folder, survives)?),
        "files" => Box::new(Files {
            folder: folder.to_owned(),
            survives,
        }),
        other => return Err(format!("{other} is none of {KINDS:?}").into()),
    })
}

struct Redb(redb::Database);

const TEXTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("texts");

impl Redb {
    fn open(folder: &Path, survives: Survives) -> Result<Redb> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join("texts.redb"))?;
        let backend = FileBackend::new(file)?;
        let mut builder = redb::Builder::new();
        builder.set_cache_size(8 << 20);
        let database = match survives {
            Survives::PowerCut => builder.create_with_backend(backend)?,
            Survives::Kill => builder.create_with_backend(Unsynced(backend))?,
        };
        // Opening a table for writing creates it.
        let transaction = database.begin_write()?;
        transaction.open_table(TEXTS)?;
        transaction.commit()?;
        Ok(Redb(database))
    }
}

impl Contender for Redb {
    fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        let transaction = self.0.begin_write()?;
        transaction.open_table(TEXTS)?.insert(key, value)?;
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let table = self.0.begin_read()?.open_table(TEXTS)?;
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    }

    fn delete(&self, key: &str) -> Result<()> {
        let transaction = self.0.begin_write()?;
        transaction.open_table(TEXTS)?.remove(key)?;
        Ok(transaction.commit()?)
    }

    fn compact(&mut self) -> Result<()> {
        while self.0.compact()? {}
        Ok(())
    }
}

/// redb offers "synced" and "not written yet", with nothing in between. Commits that are written
/// but not synced need a backend that does not sync.
#[derive(Debug)]
struct Unsynced(FileBackend);

impl StorageBackend for Unsynced {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> std::io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> std::result::Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn unlock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> std::result::Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }
}

struct Fjall {
    database: Database,
    texts: Keyspace,
    survives: Survives,
}

impl Fjall {
    fn open(folder: &Path, survives: Survives) -> Result<Fjall> {
        let database = Database::builder(folder.join("fjall"))
            .cache_size(8 << 20)
            .open()?;
        // Values are stored apart from keys, as the manual advises for large values, and
        // uncompressed, because they arrive compressed.
        let options = || {
            let apart = KvSeparationOptions::default().compression(CompressionType::None);
            KeyspaceCreateOptions::default()
                .data_block_compression_policy(CompressionPolicy::disabled())
                .with_kv_separation(Some(apart))
        };
        let texts = database.keyspace("texts", options)?;
        Ok(Fjall {
            database,
            texts,
            survives,
        })
    }

    fn persist(&self) -> Result<()> {
        Ok(self.database.persist(match self.survives {
            Survives::Kill => PersistMode::Buffer,
            Survives::PowerCut => PersistMode::SyncData,
        })?)
    }
}

impl Contender for Fjall {
    fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        self.texts.insert(key, value)?;
        self.persist()
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.texts.get(key)?.map(|value| value.to_vec()))
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.texts.remove(key)?;
        self.persist()
    }

    fn compact(&mut self) -> Result<()> {
        self.texts.rotate_memtable_and_wait()?;
        Ok(self.texts.major_compact()?)
    }
}

/// A store without a library: each text is a file, written under a temporary name and renamed.
struct Files {
    folder: PathBuf,
    survives: Survives,
}

impl Contender for Files {
    fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        let part = self.folder.join(format!("{key}.part"));
        let written = File::create(&part).and_then(|mut file| {
            file.write_all(value)?;
            if self.survives == Survives::PowerCut {
                file.sync_data()?;
            }
            std::fs::rename(&part, self.folder.join(key))?;
            if self.survives == Survives::PowerCut {
                File::open(&self.folder)?.sync_all()?;
            }
            Ok(())
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        Ok(written?)
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        match std::fs::read(self.folder.join(key)) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn delete(&self, key: &str) -> Result<()> {
        Ok(std::fs::remove_file(self.folder.join(key))?)
    }

    fn compact(&mut self) -> Result<()> {
        Ok(())
    }
}
