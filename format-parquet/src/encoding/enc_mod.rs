pub mod delta_binary_packed;
mod delta_unpack;
