int czstd_of_neighbour(void);
