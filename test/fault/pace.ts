/** The pace of traffic that a test makes: between two things that it does, never a wait for a result of one. */
export function pace(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
