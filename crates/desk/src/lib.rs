//! A member's desk: its mail, journal, state and log around an agent.
