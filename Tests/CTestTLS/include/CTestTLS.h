#ifndef C_TEST_TLS_H
#define C_TEST_TLS_H
#endif
