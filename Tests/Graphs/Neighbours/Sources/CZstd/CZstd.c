int czstd_of_neighbour(void) { return 1; }
