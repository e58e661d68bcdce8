//! Local servers for a laptop and for the tests.
