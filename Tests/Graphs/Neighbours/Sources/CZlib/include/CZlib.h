int czlib_of_neighbour(void);
