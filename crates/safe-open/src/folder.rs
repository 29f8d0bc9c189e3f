//! A folder that is held open while names in it are changed, so that a link put in its place cannot
//! redirect a rename or a removal.

use crate::error::{Kind, OpenError, Refusal};
use crate::resolve;
use crate::{Links, Opened, Options, explain};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, renameat, renameat2};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};
use std::ffi::OsStr;
use std::fs::{File, ReadDir};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// An open folder. All names are relative to it, and none of them may have a `/` in it.
#[derive(Debug)]
pub struct Folder {
    file: File,
}

impl Folder {
    /// Opens the folder.
    pub fn open(path: &Path, links: Links) -> Result<Self, OpenError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        match resolve::open(None, path, flags, Mode::empty(), links) {
            Ok(descriptor) => Ok(Self {
                file: File::from(descriptor),
            }),
            Err(Errno::ENOTDIR) => {
                let cause = match resolve::first_link(path) {
                    Some(at) if links == Links::Refuse => Refusal::Link(at).into(),
                    _ => Errno::ENOTDIR.into(),
                };
                Err(OpenError::new(path, cause))
            }
            Err(error) => Err(OpenError::new(path, explain(path, error, links))),
        }
    }

    /// Opens a file of the folder. Links are refused, whatever the options say.
    pub fn open_file(&self, name: &OsStr, options: Options) -> io::Result<Opened> {
        let name = component(name)?;
        let links = Links::Refuse;
        let opened = resolve::open(
            Some(self.file.as_fd()),
            name,
            options.flags,
            options.mode,
            links,
        );
        let file = File::from(opened?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            let kind = Kind::of(metadata.file_type());
            return Err(Refusal::NotRegular(kind).into());
        }
        Ok(Opened { file, metadata })
    }

    /// Renames a file, replacing one that has the new name.
    pub fn rename(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
        let (name, new_name) = (component(name)?, component(new_name)?);
        Ok(renameat(&self.file, name, &to.file, new_name)?)
    }

    /// Renames a file, and never replaces one that has the new name.
    pub fn rename_new(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
        self.rename_with(name, to, new_name, RenameFlags::RENAME_NOREPLACE)
    }

    /// Exchanges the names of two files.
    pub fn exchange(&self, name: &OsStr, to: &Self, other: &OsStr) -> io::Result<()> {
        self.rename_with(name, to, other, RenameFlags::RENAME_EXCHANGE)
    }

    fn rename_with(
        &self,
        name: &OsStr,
        to: &Self,
        new_name: &OsStr,
        flags: RenameFlags,
    ) -> io::Result<()> {
        let (name, new_name) = (component(name)?, component(new_name)?);
        Ok(renameat2(&self.file, name, &to.file, new_name, flags)?)
    }

    /// Gives a file a second name, unless a file has it.
    pub fn link(&self, name: &OsStr, new_name: &OsStr) -> io::Result<()> {
        let (name, new_name) = (component(name)?, component(new_name)?);
        let flags = AtFlags::empty();
        Ok(linkat(&self.file, name, &self.file, new_name, flags)?)
    }

    /// Removes a file, or a link itself.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        let name = component(name)?;
        Ok(unlinkat(&self.file, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes a file, or a folder with all that is in it. Links are removed, not followed.
    pub fn remove_all(&self, name: &OsStr) -> io::Result<()> {
        match self.remove_file(name) {
            Err(error) if is_folder(&error) => {}
            result => return result,
        }
        let inside = self.subfolder(name)?;
        for entry in inside.list()? {
            inside.remove_all(&entry?.file_name())?;
        }
        Ok(unlinkat(&self.file, name, UnlinkatFlags::RemoveDir)?)
    }

    fn subfolder(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let at = Some(self.file.as_fd());
        let opened = resolve::open(at, component(name)?, flags, Mode::empty(), Links::Refuse);
        Ok(Self {
            file: File::from(opened?),
        })
    }

    /// Creates a folder that is private to the user.
    pub fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(mkdirat(&self.file, component(name)?, Mode::S_IRWXU)?)
    }

    /// What is in the folder. The paths of the entries lead through `/proc` and last as long as the
    /// folder is open; only their names mean something later.
    pub fn list(&self) -> io::Result<ReadDir> {
        std::fs::read_dir(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Makes the names in the folder survive a power cut.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// Only a plain name stays inside the folder.
fn component(name: &OsStr) -> io::Result<&Path> {
    let path = Path::new(name);
    match path.file_name() == Some(name) {
        true => Ok(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn is_folder(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::IsADirectory
}
