int cnghttp2_of_neighbour(void);
