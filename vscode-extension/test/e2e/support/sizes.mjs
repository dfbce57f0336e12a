/** Whether this is `make test-all`, the larger of the two sizes of a test run; neither the date nor chance chooses what runs. */
export const testAll = !['', '0'].includes(process.env.MERROW_TEST_ALL ?? '');
