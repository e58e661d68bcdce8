//! The walk of one request, a stage a file.
