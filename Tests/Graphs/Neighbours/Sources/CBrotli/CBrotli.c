int cbrotli_of_neighbour(void) { return 1; }
