int csqlite_of_neighbour(void);
