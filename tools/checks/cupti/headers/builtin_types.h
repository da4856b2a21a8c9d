/* Replaces CUDA's header, of which CUPTI's structs use nothing. */
