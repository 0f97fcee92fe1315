int copenssl_of_neighbour(void) { return 1; }
