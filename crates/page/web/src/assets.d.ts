declare module '*.s' {
  const text: string;
  export default text;
}
