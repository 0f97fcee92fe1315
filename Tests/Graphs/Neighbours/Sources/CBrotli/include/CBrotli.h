int cbrotli_of_neighbour(void);
