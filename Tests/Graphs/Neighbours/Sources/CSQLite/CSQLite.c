int csqlite_of_neighbour(void) { return 1; }
