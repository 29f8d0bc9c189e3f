//! What is known about models: their windows and output limits, whether they accept images, and what they
//! cost.
//!
//! The built-in knowledge is one file of data, `models.toml`, which is part of the program. A person
//! extends and corrects it in their own file or in `team.toml`, in the same form, see [`ModelEntry`].
//! [`Catalogue`] combines all of it and looks it up by a model's name. For an unknown model it returns
//! facts that are safe to assume, and [`ModelFacts::is_known`] tells them from known ones.
//!
//! **Invariant:** the files of a workspace, which a stranger may have written, lower no price.

mod entry;
mod known_models;
mod name;
mod price;

pub use entry::ModelEntry;
pub use known_models::{
    Catalogue, LONGEST_USUAL_REPLY, ModelFacts, UNKNOWN_MAX_OUTPUT, UNKNOWN_WINDOW, built_in,
};
pub use name::normal_name;
pub use price::Price;
