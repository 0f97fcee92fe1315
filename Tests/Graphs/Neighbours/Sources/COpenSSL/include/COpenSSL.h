int copenssl_of_neighbour(void);
