/* In the place of CUDA's, of which CUPTI's structs use nothing. */
