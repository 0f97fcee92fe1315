int czlib_of_neighbour(void) { return 1; }
